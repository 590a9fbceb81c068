//go:build opencl && cgo && linux

package algo

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"

	"github.com/extsort/extsort/device/opencl/cl"
)

// ranked is the shape of kernels that rank tiles with rank.cl.
type ranked struct {
	geometry
	ranking   Ranking
	maskSteps int
}

// rankTeam is the number of work-items in a team, TEAM in rank.cl.
const rankTeam = 32

// newRanked returns a shape. groupSize and items are the defaults if p does not specify them; the
// model chooses the digits. Each digit value needs a work-item, so a device with small
// work-groups gets narrower digits. A device with little local memory gets fewer keys per
// work-item.
func newRanked(
	dev *cl.Device,
	p Params,
	v variant,
	ranking Ranking,
	groupSize, items int,
) ranked {
	r := ranked{ranking: ranking}
	r.groupSize, r.items = min(groupSize, dev.MaxGroup), cmp.Or(p.Items, items)
	r.geometry = r.withDigit(
		p,
		v,
		upTo(min(maxDigitBits, bits.Len(uint(r.groupSize))-1)),
	)
	r.groupSize = cmp.Or(p.GroupSize, r.groupSize)
	r.maskSteps = cmp.Or(p.MaskSteps, r.defaultSteps(dev))
	for p.Items == 0 && r.items > 1 &&
		r.localBytes(v.wordBytes, true) > dev.LocalBytes {
		r.items--
	}
	return r
}

// defaultSteps returns 2 keys between barriers if local memory has room for their masks, which
// take one word per team and digit. If a group is a single warp, its barrier is so cheap that 1
// is enough.
func (r ranked) defaultSteps(dev *cl.Device) int {
	r.maskSteps = 2
	if r.ranking != RankMasks || r.localBytes(8, true) > dev.LocalBytes {
		return 1
	}
	return 2
}

// localBytes returns the local memory that reorder and onesweep_pass use: POOL_BYTES in rank.cl,
// the starts, and single shared variables.
func (r ranked) localBytes(wordBytes int, wide bool) int64 {
	words := int64(r.groupSize/rankTeam) * r.radix()
	if r.ranking == RankMasks || r.ranking == RankWarpMasks {
		words *= int64(1 + r.maskSteps)
	}
	pool := max(4*(words+2*r.radix()), int64(wordBytes)*r.tile())
	return pool + variant{wide: wide}.offsetBytes()*r.radix() + 16
}

// checkDevice returns an error if the kernels cannot run on a device.
func (r ranked) checkDevice(dev *cl.Device, wordBytes int, wide bool) error {
	if r.maskSteps < 1 || r.maskSteps > 16 {
		return fmt.Errorf("%d keys between barriers: use 1 to 16", r.maskSteps)
	}
	return r.geometry.checkDevice(
		dev,
		limits{maxDigitBits, rankTeam, r.radix(), r.localBytes(wordBytes, wide)},
	)
}

// program builds the files for this shape, after checking it.
func (r ranked) program(
	b *builder,
	more cl.Defines,
	files ...string,
) (kernel func(name string) *cl.Kernel) {
	b.fail(r.checkDevice(b.device(), b.v.wordBytes, b.v.wide))
	defines := cl.Defines{
		"RANK":       int(r.ranking) - int(RankMasks),
		"MASK_STEPS": r.maskSteps,
	}
	maps.Copy(defines, more)
	return b.program(r.geometry, defines, files...)
}
