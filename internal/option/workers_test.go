package option

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestCheckWorkers checks both limits. The default, one worker for each processor, is always valid.
func TestCheckWorkers(t *testing.T) {
	most := maxWorkers()
	for _, n := range []int{1, runtime.GOMAXPROCS(0), usefulWorkers, most} {
		if err := CheckWorkers(n); err != nil {
			t.Error(err)
		}
	}
	for _, n := range []int{-1, 0, most + 1} {
		want := fmt.Sprintf("%d: must be from 1 to %d", n, most)
		if err := CheckWorkers(n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("CheckWorkers(%d) = %v, want %s", n, err, want)
		}
	}
}
