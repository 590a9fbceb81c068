package input

import (
	"math"
	"testing"
)

// TestPartsAreEqual checks that parts follow each other without a gap and differ by one record at
// most.
func TestPartsAreEqual(t *testing.T) {
	for _, records := range []int64{0, 1, 2, 63, 64, 65, 1000, maxBytes, math.MaxInt64} {
		for _, n := range []int64{1, 2, 3, 64, 1000, math.MaxInt64} {
			end := int64(0)
			for k := range min(n, 1000) {
				from, to := Part{k, n}.Of(records)
				if from != end || to-from < records/n || to-from-records/n > 1 {
					t.Fatalf("part %d/%d of %d: %d to %d, and the one before ends at %d", k, n, records, from, to, end)
				}
				end = to
			}
			if _, to := (Part{n - 1, n}).Of(records); to != records {
				t.Errorf("the last of %d parts of %d ends at %d", n, records, to)
			}
		}
	}
	for part, ok := range map[Part]bool{{}: true, {0, 1}: true, {3, 4}: true, {4, 4}: false, {-1, 4}: false, {1, 0}: false,
		{0, -1}: false} {
		if err := part.Validate(); (err == nil) != ok {
			t.Errorf("part %v: %v", part, err)
		}
	}
}
