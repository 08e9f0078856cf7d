package packstream

// Markers. The tiny forms hold the length or the number in their low four bits.
const (
	tinyString = 0x80
	tinyList   = 0x90
	tinyMap    = 0xA0
	tinyStruct = 0xB0
	markNull   = 0xC0
	markFloat  = 0xC1
	markFalse  = 0xC2
	markTrue   = 0xC3
	int8Mark   = 0xC8 // the next ones have 16, 32 and 64 bits
	bytes8     = 0xCC // the next ones have lengths of 16 and 32 bits, here and below
	string8    = 0xD0
	list8      = 0xD4
	map8       = 0xD8
	struct8    = 0xDC // with a length of 8 or 16 bits, in earlier versions
	struct16   = 0xDD
	firstTiny  = 0xF0 // this and higher markers are the integers from -16 to -1
)

// Tags of structures that represent values.
const (
	tagNode           = 'N'
	tagEdge           = 'R'
	tagUnbound        = 'r'
	tagPath           = 'P'
	tagDate           = 'D'
	tagTime           = 'T'
	tagLocalTime      = 't'
	tagLocalDateTime  = 'd'
	tagDuration       = 'E'
	tagOffsetLocal    = 'F' // a date-time whose seconds are local
	tagZonedLocal     = 'f'
	tagOffsetDateTime = 'I' // a date-time whose seconds are in UTC
	tagZonedDateTime  = 'i'
	tagPoint2D        = 'X'
	tagPoint3D        = 'Y'
	tagVector         = 'V'
)

// MaxDepth bounds the nesting of lists, maps and structures.
const MaxDepth = 128

// Form describes the structures that a connection uses.
type Form struct {
	// ElementIDs means that nodes and relationships carry element ids, as since 5.0.
	ElementIDs bool
	// UTC means that the seconds of date-times are in UTC, as since 5.0 and with the patch of 4.4.
	UTC bool
	// Vectors means that vectors have a structure, as since 6.0.
	Vectors bool
	// Replaced, if not nil, is set to true once a map takes the place of a vector.
	Replaced *bool
}
