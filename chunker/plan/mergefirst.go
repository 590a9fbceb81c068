package plan

import (
	"math"
	"sort"
)

// maxSelectedShare is the largest fraction of all records from which a merge selects the first ones.
// If more records are needed, leaving out the others saves little.
const maxSelectedShare = 1.0 / 4

// selectFirst decides whether a merge that writes only the first records leaves out the others while
// it reads the input. From the sample it chooses a prefix such that hardly ever fewer records than
// wanted are left. If that happens, the merge starts again and takes all records.
func selectFirst(c *chooser, a *Candidate) {
	limit := c.f.First()
	keys := c.sorted()
	if limit < 0 || c.f.Checkpoint != nil || !c.f.canReread() || !c.f.Sample.Enough || len(keys) == 0 {
		return
	}
	at := int(float64(len(keys)) * shareOfFirst(limit, c.f.Records, len(keys)))
	if at >= len(keys) {
		return
	}
	high := keys[at]
	upTo := sort.Search(len(keys), func(i int) bool { return keys[i] > high })
	share := float64(upTo) / float64(len(keys))
	capacity := c.chunkRecords(c.f.Records)
	if share > maxSelectedShare || capacity < 1 {
		return
	}

	a.SelectedShare = share
	a.SelectedHigh = high
	a.ChunkRecords = capacity
	a.Chunks = passesOf(int64(share*c.known()), capacity)
	a.KeptRecords = 0
}

// shareOfFirst returns the fraction of all records that a pass selects so that they rarely contain
// fewer than the wanted first records. keys is the number of keys in the sample.
func shareOfFirst(wanted, records int64, keys int) float64 {
	share := float64(wanted) / float64(max(records, 1))
	n := float64(keys)
	return share + 4*math.Sqrt(share/n) + 8/n
}
