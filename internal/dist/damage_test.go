package dist

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/session"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestDamagedRecords truncates each kind of record at every byte and changes each of its digits.
// A damaged record must never be accepted.
func TestDamagedRecords(t *testing.T) {
	c := newCluster(t, format.Spec{Type: "u64"}, "uniform", 400, func(r *Request) { r.Runs, r.Parts = 2, 2 })
	ctx, p := t.Context(), c.Plan
	c.ok(c.Run(ctx, session.Part{}))
	c.ok(c.Cut(ctx, session.Part{}))
	c.ok(c.Merge(ctx, session.Part{}))
	for _, of := range []kind{runs, parts} {
		eachDamage(t, p.recordFile(of, 1), func() bool {
			r, err := p.record(of, 1)
			return r == nil && err == nil
		})
	}
	eachDamage(t, p.recordFile(cuts, 1), func() bool { return !isCut(ctx, p, 0, p.Parts) })
	eachDamage(t, p.path(planName), func() bool {
		_, err := ReadPlan(c.folder)
		return err != nil
	})

	// If a record is damaged, its task is repeated, and the manifest is rebuilt from the records.
	for _, name := range []string{p.recordFile(runs, 0), p.recordFile(cuts, 1), p.recordFile(parts, 1)} {
		testfiles.Write(t, name, nil)
	}
	c.all(1)
	testfiles.Write(t, p.path(manifestName), []byte("{"))
	if s, err := p.Status(ctx); err != nil || s.Next != "verify" {
		t.Errorf("status %+v, %v", s, err)
	}
	_, err := c.Verify(ctx, false)
	c.ok(err)
	c.check()
}

// eachDamage damages a file in every way and restores it. It changes only digits, because white
// space and the case of field names may vary in JSON.
func eachDamage(t *testing.T, name string, noticed func() bool) {
	t.Helper()
	whole := testfiles.Read(t, name)
	for i := range whole {
		testfiles.Write(t, name, whole[:i])
		if !noticed() && i < len(whole)-1 { // the last byte is the end of the line
			t.Errorf("%s cut to %d bytes is believed", filepath.Base(name), i)
		}
	}
	for i, b := range whole {
		if b < '0' || b > '9' {
			continue
		}
		changed := bytes.Clone(whole)
		changed[i] = '0' + (b-'0'+1)%10
		testfiles.Write(t, name, changed)
		if !noticed() {
			t.Errorf("%s with another digit at byte %d is believed", filepath.Base(name), i)
		}
	}
	testfiles.Write(t, name, whole)
	if noticed() {
		t.Errorf("%s is not believed as it was written", name)
	}
}

// TestVerifyLooksAtParts verifies finished sorts whose parts are missing or truncated.
func TestVerifyLooksAtParts(t *testing.T) {
	for _, oneFile := range []bool{false, true} {
		c := newCluster(t, format.Spec{Type: "u64"}, "uniform", 400, func(r *Request) { r.OneFile = oneFile })
		c.all(1)
		_, err := c.Verify(t.Context(), false)
		c.ok(err)
		name, _ := c.Plan.partFile(3)
		if err := os.Truncate(name, 8); err != nil {
			t.Fatal(err)
		}
		_, err = c.Verify(t.Context(), false)
		refused(t, err, "its size has changed")
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		_, err = c.Verify(t.Context(), false)
		refused(t, err, "is missing")
	}
}

// TestVerifyRefusesUnfinishedFile makes a plan again at a moment when its manifest is not visible, so
// that a file without records stands beside the verified output.
func TestVerifyRefusesUnfinishedFile(t *testing.T) {
	c := newCluster(t, format.Spec{Type: "u64"}, "uniform", 400, func(r *Request) { r.OneFile = true })
	c.all(1)
	_, err := c.Verify(t.Context(), false)
	c.ok(err)
	manifest := c.Plan.path(manifestName)
	c.ok(os.Rename(manifest, manifest+".hidden"))
	_, err = CreatePlan(t.Context(), c.folder, c.req)
	c.ok(err)
	c.ok(os.Rename(manifest+".hidden", manifest))

	_, err = c.Verify(t.Context(), false)
	refused(t, err, "was created after the output was verified")
	c.ok(os.Remove(c.Plan.partialName()))
	_, err = c.Verify(t.Context(), false)
	c.ok(err)
	c.check()
}

// TestForeignPartsAreRefused sorts into the directory of a sort with more parts.
func TestForeignPartsAreRefused(t *testing.T) {
	c := newCluster(t, format.Spec{Type: "u64"}, "uniform", 400, func(r *Request) { r.Parts = 4 })
	c.all(1)
	fewer := c.req
	fewer.Parts = 2
	_, err := CreatePlan(t.Context(), filepath.Join(t.TempDir(), "plan"), fewer)
	refused(t, err, "part-00002 of another sort")
}
