//go:build opencl && cgo && linux

package algo

import (
	"fmt"
	"maps"

	"github.com/extsort/extsort/device/opencl/cl"
)

// ranked is the shape of kernels that rank tiles by rank.cl.
type ranked struct {
	geometry
	ranking   Ranking
	maskSteps int
}

// rankTeam is the work-items of a team, TEAM in rank.cl.
const rankTeam = 32

// newRanked takes the defaults given where p says nothing. A digit value has a work-item of its own, so that a device
// with small work-groups gets narrower digits, and one with little local memory fewer keys per work-item.
func newRanked(dev *cl.Device, p Params, wordBytes int, ranking Ranking, groupSize, items int) ranked {
	r := ranked{geometry: geometry{groupSize: min(groupSize, dev.MaxGroup), items: items, digitBits: 8}, ranking: ranking}
	for 1<<r.digitBits > r.groupSize {
		r.digitBits--
	}
	override(&r.groupSize, p.GroupSize)
	override(&r.items, p.Items)
	override(&r.digitBits, p.DigitBits)
	r.maskSteps = r.stepsFor(dev)
	override(&r.maskSteps, p.MaskSteps)
	for p.Items == 0 && r.items > 1 && r.localBytes(wordBytes, true) > dev.LocalBytes {
		r.items--
	}
	return r
}

func override(value *int, param int) {
	if param != 0 {
		*value = param
	}
}

// stepsFor is as many steps between barriers as local memory has room for, up to 2: each costs a word per team and
// digit, and steps must look at each other's masks (an H200 sorts 2^28 keys of 4 bytes at 29.9 Gkeys/s with 2, 29.0 with 4). The barrier of a warp costs so little that one step will do.
func (r ranked) stepsFor(dev *cl.Device) int {
	if r.ranking != RankMasks {
		return 1
	}
	for r.maskSteps = 2; r.maskSteps > 1 && r.localBytes(8, true) > dev.LocalBytes; {
		r.maskSteps--
	}
	return r.maskSteps
}

// localBytes is the local memory that reorder and onesweep_pass take: POOL_BYTES in rank.cl, the starts, and what is
// shared singly.
func (r ranked) localBytes(wordBytes int, wide bool) int64 {
	words := int64(r.groupSize/rankTeam) * r.radix()
	if r.ranking == RankMasks || r.ranking == RankWarpMasks {
		words *= int64(1 + r.maskSteps)
	}
	pool := max(4*(words+2*r.radix()), int64(wordBytes)*r.tile())
	starts := 4 * r.radix()
	if wide {
		starts *= 2
	}
	return pool + starts + 16
}

func (r ranked) defines() cl.Defines {
	d := r.geometry.defines()
	maps.Copy(d, cl.Defines{"RANK": int(r.ranking) - int(RankMasks), "MASK_STEPS": r.maskSteps})
	return d
}

// check says why the kernels could not work on a device.
func (r ranked) check(dev *cl.Device, wordBytes int, wide bool) error {
	switch {
	case r.digitBits < 1 || r.digitBits > 8:
		return fmt.Errorf("digits of %d bits: use 1 to 8", r.digitBits)
	case r.items < 1 || r.items > 64 || r.maskSteps < 1 || r.maskSteps > 16:
		return fmt.Errorf("%d keys per work-item, %d between barriers: use 1 to 64, 1 to 16", r.items, r.maskSteps)
	case r.groupSize%rankTeam != 0 || int64(r.groupSize) < r.radix() || r.groupSize > dev.MaxGroup:
		return fmt.Errorf("work-groups of %d: use a multiple of %d from %d to %d", r.groupSize, rankTeam, r.radix(), dev.MaxGroup)
	case r.localBytes(wordBytes, wide) > dev.LocalBytes:
		return fmt.Errorf("%d work-items with %d keys of %d bytes: need %d bytes of local memory, of which there are %d",
			r.groupSize, r.items, wordBytes, r.localBytes(wordBytes, wide), dev.LocalBytes)
	}
	return nil
}

// program builds the files for a shape, if that can work.
func (r ranked) program(b *builder, dev *cl.Device, more cl.Defines, files ...string) *program {
	if b.err == nil {
		b.err = r.check(dev, b.v.wordBytes, b.v.wide)
	}
	defines := r.defines()
	maps.Copy(defines, more)
	return b.program(r.geometry, defines, files...)
}
