package main

import (
	"bytes"
	"testing"
)

// TestRandomSorts compares random sorts of the real command with the oracle, for five seconds. Its log has the seed of
// each one; go run ./internal/soak -most 4 -seed N repeats it.
func TestRandomSorts(t *testing.T) {
	t.Parallel()
	var log, complaints bytes.Buffer
	args := []string{"-t", "5s", "-most", "4", "-dir", t.TempDir()}
	status := run(t.Context(), args, &log, &complaints)
	if status != 0 {
		t.Errorf("status %d: %s", status, complaints.String())
	}
	t.Log(log.String())
	if !bytes.Contains(log.Bytes(), []byte(": ok\n")) {
		t.Error("no sort was tried")
	}
}
