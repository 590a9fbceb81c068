package format

import "slices"

// conversion is the way from the raw numbers of bare records of 4 or 8 bytes to normalized keys, or back, for
// vectors of them: swap bytes, flip what is in before, flip what is in spread if the sign bit is set, flip what is
// in after, swap bytes. The zero conversion is none. convert_amd64.s knows its offsets.
type conversion struct {
	swapFirst             [16]byte // where each byte comes from
	before, spread, after uint64   // of numbers of 4 bytes in both halves
	swapLast              [16]byte
}

// setConversions prepares vectors for layouts that they serve: one number, all of which is the key.
func (k *Keyer) setConversions() {
	size := k.layout.RecordSize
	if !k.layout.IsBare() || size != 4 && size != 8 {
		return
	}
	p := &k.prefix[0]
	same, raw := orderOfBytes(size, false), orderOfBytes(size, p.bigEndian)
	both := func(v uint64) uint64 {
		if size == 4 {
			v |= v << 32
		}
		return v
	}
	k.toKeys = conversion{swapFirst: raw, spread: both(p.spread), after: both(p.flip), swapLast: same}
	k.toRecords = conversion{swapFirst: same, before: both(p.flip), spread: both(p.spread), swapLast: raw}
}

// orderOfBytes is where each byte of numbers of 4 or 8 bytes comes from, if their bytes are to be swapped or not.
func orderOfBytes(size int, swapped bool) (order [16]byte) {
	for i := range order {
		order[i] = byte(i)
	}
	if swapped {
		for number := range slices.Chunk(order[:], size) {
			slices.Reverse(number)
		}
	}
	return order
}
