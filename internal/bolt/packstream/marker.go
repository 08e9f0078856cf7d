package packstream

// The markers. Those of the tiny forms carry the length, or the number, in their low four bits.
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
	struct8    = 0xDC // with a length of 8 or of 16 bits, of earlier versions
	struct16   = 0xDD
	firstTiny  = 0xF0 // the markers from here on are the integers from -16 to -1
)

// The tags of structures that are values.
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
	tagOffsetLocal    = 'F' // a date-time whose seconds are those of the clock on the spot
	tagZonedLocal     = 'f'
	tagOffsetDateTime = 'I' // a date-time whose seconds are those of UTC
	tagZonedDateTime  = 'i'
	tagPoint2D        = 'X'
	tagPoint3D        = 'Y'
	tagVector         = 'V'
)

// MaxDepth is how deep lists, maps and structures may be nested.
const MaxDepth = 128

// Form says how the structures of a connection look.
type Form struct {
	// ElementIDs says that nodes and relationships carry their element ids, as from 5.0 on.
	ElementIDs bool
	// UTC says that the seconds of date-times are those of UTC, as from 5.0 on and with the patch of 4.4.
	UTC bool
}
