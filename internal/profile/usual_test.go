package profile

import (
	"testing"

	"github.com/extsort/extsort/chunker/plan"
)

// TestUsualPlans checks that the usual sorts can be planned, and that the profile affects their
// plans.
func TestUsualPlans(t *testing.T) {
	slow := plan.DefaultProfile()
	slow.DiskBytes /= 100
	for _, u := range TypicalSorts {
		p, err := u.Plan(plan.DefaultProfile(), 2)
		if err != nil {
			t.Fatalf("%s: %v", u.Name, err)
		}
		other, err := u.Plan(slow, 2)
		if err != nil {
			t.Fatalf("%s: %v", u.Name, err)
		}
		if p.Seconds <= 0 || other.Seconds <= p.Seconds {
			t.Errorf("%s: %v s, with a slow disk %v s", u.Name, p.Seconds, other.Seconds)
		}
		if (p.Strategy == plan.InCore) != (u.bytes < u.memory) {
			t.Errorf("%s: planned as %s", u.Name, p.Strategy)
		}
	}
}
