package algo

import "cmp"

// Params are the parameters of an algorithm. A zero value means the default for the device. An
// algorithm ignores parameters that it does not have and rejects values that cannot work. Package
// tune stores Params as JSON.
type Params struct {
	DigitBits int `json:"digitBits,omitempty"` // bits per pass
	GroupSize int `json:"groupSize,omitempty"` // work-items in a work-group
	Items     int `json:"items,omitempty"`     // keys per work-item in one step
	// Work-groups per launch, which is the number of sections of the array.
	Groups int `json:"groups,omitempty"`
	// Selection-blocks: keys that a work-item reads into a block, 1 to 32.
	BlockFactor int `json:"blockFactor,omitempty"`

	Ranking Ranking `json:"ranking,omitempty"` // how the keys of a tile are ranked
	// Keys that a work-item ranks between two barriers, with masks.
	MaskSteps int `json:"maskSteps,omitempty"`

	// LeadingKeys is the minimum number of 64-bit keys for a sort by leading bits with repair,
	// which also requires that according to the sample few keys have equal leading bits. A
	// negative number disables it.
	LeadingKeys int64 `json:"leadingKeys,omitempty"`

	Wide bool `json:"wide,omitempty"` // for tests: 64-bit positions even if 32 bits suffice
}

// minKeys returns the minimum number of keys for a shortcut. Tests lower it with LeadingKeys.
func (p Params) minKeys(otherwise int64) int64 {
	return cmp.Or(max(p.LeadingKeys, 0), otherwise)
}

// A Ranking is the way in which work-items with equal digits find each other: see rank.cl.
type Ranking int

// The rankings. With RankAuto, onesweep uses ballots if the probe shows that they work on the
// device, and masks otherwise. count-scan-reorder uses masks, which work everywhere.
const (
	RankAuto Ranking = iota
	RankMasks
	RankBallots
	RankWarpMasks
	RankSubgroups
)
