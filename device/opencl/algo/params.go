package algo

import "cmp"

// Params tune an algorithm. The zero value of each means the default for the device; an algorithm looks only at
// those that it has, and refuses values that cannot work. As JSON they are kept by package tune.
type Params struct {
	DigitBits   int `json:"digitBits,omitempty"`   // bits sorted by one pass
	GroupSize   int `json:"groupSize,omitempty"`   // work-items in a work-group
	Items       int `json:"items,omitempty"`       // keys of a work-item in one step
	Groups      int `json:"groups,omitempty"`      // work-groups in a launch, that is, sections of the array
	BlockFactor int `json:"blockFactor,omitempty"` // selection-blocks: keys that a work-item reads into a block, 1 to 32

	Ranking   Ranking `json:"ranking,omitempty"`   // how a tile is ranked
	MaskSteps int     `json:"maskSteps,omitempty"` // keys that a work-item ranks between two barriers, with masks

	// LeadingKeys is the least number of 64-bit keys that are sorted by their leading bits alone and then
	// repaired, where a sample says that few tie; below 0: never.
	LeadingKeys int64 `json:"leadingKeys,omitempty"`

	Wide bool `json:"wide,omitempty"` // 64-bit positions even where 32 bits would do: for tests
}

// least is the fewest keys that a shortcut is taken for; tests lower it by LeadingKeys.
func (p Params) least(otherwise int64) int64 { return cmp.Or(max(p.LeadingKeys, 0), otherwise) }

// Ranking is how work-items that hold equal digits find each other: see rank.cl.
type Ranking int

// The rankings. Auto, for onesweep, takes ballots where the probe shows that they work on the device, else masks;
// count-scan-reorder stays with masks, which work everywhere, unless told otherwise.
const (
	RankAuto Ranking = iota
	RankMasks
	RankBallots
	RankWarpMasks
	RankSubgroups
)
