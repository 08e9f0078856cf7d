package access

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hopgate/hopgate/internal/size"
)

// Limits bound the resources of a caller, or of all callers of a graph; 0 is no limit.
type Limits struct {
	Queries  int     // concurrent statements, fetches and traversals
	Memory   int64   // bytes that their operators hold in total
	Requests float64 // requests per second
	Bytes    float64 // bytes per second, of requests and responses
	Cost     int64   // units that one request may be expected to take
}

// ParseLimits parses limits such as "queries=50%,memory=256MiB,requests=100,bytes=10MiB,cost=1000000". Percentages refer to the limits of the whole
// server.
func ParseLimits(text string, whole Limits) (l Limits, err error) {
	if strings.TrimSpace(text) == "" {
		return l, nil
	}
	var errs []error
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		var n float64
		var err error
		switch name {
		case "queries":
			n, err = amount(value, float64(whole.Queries), parseNumber)
			l.Queries = int(math.Ceil(n))
		case "memory":
			n, err = amount(value, float64(whole.Memory), parseSize)
			l.Memory = int64(n)
		case "requests":
			l.Requests, err = parseNumber(value)
		case "bytes":
			l.Bytes, err = parseSize(value)
		case "cost":
			n, err = parseNumber(value)
			l.Cost = int64(math.Ceil(n))
		default:
			err = errors.New("there is no such limit; there are queries, memory, requests, bytes and cost")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	return l, errors.Join(errs...)
}

// amount parses a number or a percentage of a whole.
func amount(text string, whole float64, parse func(string) (float64, error)) (float64, error) {
	part, ok := strings.CutSuffix(text, "%")
	if !ok {
		return parse(text)
	}
	n, err := parseNumber(part)
	if err == nil && n > 100 {
		err = fmt.Errorf("%s is more than the whole", text)
	}
	return whole * n / 100, err
}

func parseNumber(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= math.MaxInt32) {
		return 0, fmt.Errorf("%q is not a number from 0", text)
	}
	return n, nil
}

func parseSize(text string) (float64, error) {
	n, err := size.Parse(text)
	return float64(n), err
}
