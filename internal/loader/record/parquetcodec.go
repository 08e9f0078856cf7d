package record

import "github.com/apache/arrow-go/v18/parquet/compress"

// Pages of version 2 without values hold nothing, or the compression of nothing, which arrow-go's codecs do not all decode.
func init() {
	for _, c := range []compress.Compression{
		compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Zstd, compress.Codecs.Lz4Raw,
	} {
		if codec, err := compress.GetCodec(c); err == nil {
			compress.RegisterCodec(c, emptyCodec{codec})
		}
	}
}

// emptyCodec decodes nothing to nothing.
type emptyCodec struct{ compress.Codec }

// DecodeWithError implements the method that compress.Decode prefers.
func (c emptyCodec) DecodeWithError(dst, src []byte) ([]byte, error) {
	if dst != nil && len(dst) == 0 {
		return dst, nil
	}
	return compress.Decode(c.Codec, dst, src)
}
