package format

import "slices"

// Delta compresses only blocks of sorted records. See Packer.
const Delta Compression = 6

var deltaCodec = codec{
	name: "delta",
	blocks: &blockCodec{
		open: newDeltaBlocks,
		// including the padding that Unpack needs
		maxBytes: func(n int) int {
			return n + maxPackHeaders(n) + packPadding
		},
		coderBytes: func(int) int { return 0 },
		decodeCost: 1,
		trial:      1,
		packs:      true,
	},
}

type deltaBlocks struct{ packer *Packer }

// newDeltaBlocks returns nil for records that a Packer does not support.
func newDeltaBlocks(l Layout, _ int) blockCoder {
	packer := NewPacker(l)
	if packer == nil {
		return nil
	}
	return deltaBlocks{packer}
}

func (d deltaBlocks) compress(dst, src []byte) []byte {
	return d.packer.Pack(dst, src)
}

// decompress fills dst, which must have the size of the records. It copies src if src has no room
// for the padding.
func (d deltaBlocks) decompress(dst, src []byte) ([]byte, error) {
	return dst, d.packer.Unpack(dst, slices.Grow(src, packPadding))
}
