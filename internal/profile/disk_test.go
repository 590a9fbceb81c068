package profile

import (
	"testing"

	"github.com/extsort/extsort/chunker/plan"
)

// TestDiskOf checks that the measurements of a disk apply only to that disk, and stay when others
// are measured.
func TestDiskOf(t *testing.T) {
	folder := nothingStored(t)
	diskOf := func(name string) plan.Disk { return Load().DiskOf(name) }
	here := diskOf(folder)
	if here != (plan.Disk{ID: here.ID}) {
		t.Errorf("nothing is kept: %+v", here)
	}
	here.Folder, here.Fetch, here.Write = folder, 1e9, 3e9
	for _, found := range []map[string]plan.Disk{
		{here.ID: here}, {"another": {Folder: "/other", Write: 5e9}, "broken": {Folder: "/", Write: -1}},
	} {
		if _, err := Save(plan.DefaultProfile(), found, "a test"); err != nil {
			t.Fatal(err)
		}
		if d := diskOf(folder); d != here {
			t.Errorf("kept is %+v, want %+v", d, here)
		}
	}
	if kept := LoadMeasured().Disks; len(kept) != 2 || kept["another"].Write != 5e9 {
		t.Errorf("kept are %+v", kept)
	}
	if d := diskOf("/proc"); d.ID != here.ID && d.Write != 0 {
		t.Errorf("of another disk: %+v", d)
	}
	if got := Load().ProfileFor(folder).DiskBytes; got != here.Write {
		t.Errorf("on that disk %g bytes/s are written", got)
	}
	t.Setenv("EXTSORT_PROFILE", "default")
	if d := diskOf(folder); d.Write != 0 || Load().ProfileFor(folder).DiskBytes != plan.DefaultProfile().DiskBytes {
		t.Errorf("the default is asked for: %+v", d)
	}
	if k := LoadMeasured(); k.ProfileFor(folder).DiskBytes != here.Write {
		t.Errorf("kept is all the same that %g bytes/s are written", k.ProfileFor(folder).DiskBytes)
	}
}
