//go:build unix

package output

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/filelock"
	"github.com/extsort/extsort/internal/testfiles"
)

// TestNamesWaitForNaming begins a set while another process names the same one. The directory is
// locked, and it contains files that no index lists. After the lock is released, the index decides
// whether they belong to a set.
func TestNamesWaitForNaming(t *testing.T) {
	synctest.Test(t, testNamesWaitForNaming)
}

func testNamesWaitForNaming(t *testing.T) {
	for _, listed := range []bool{false, true} {
		stem := filepath.Join(t.TempDir(), "out")
		mustWriteSet(t, stem, "ab", Split{Files: 2})
		index := content(t, stem+".index")
		if err := os.Remove(stem + ".index"); err != nil {
			t.Fatal(err)
		}
		names := setNames{stem: stem}
		unlock, err := names.lock(t.Context(), filelock.Exclusive)
		if err != nil {
			t.Fatal(err)
		}

		cancelled, cancel := context.WithCancelCause(t.Context())
		const after = namingTimeout / 2
		time.AfterFunc(after, func() { cancel(errInjected) })
		start := time.Now()
		_, err = newSetNames(cancelled, stem, format.None, 2)
		if took := time.Since(start); !errors.Is(err, errInjected) || took != after {
			t.Errorf("cancelled, after %v the error is %v", took, err)
		}

		decided := make(chan error)
		go func() {
			_, err := newSetNames(t.Context(), stem, format.None, 2)
			decided <- err
		}()
		select {
		case err := <-decided:
			t.Fatalf("decided while the directory was locked: %v", err)
		case <-time.After(namingTimeout / 2):
		}
		if listed {
			testfiles.Write(t, stem+".index", []byte(index))
		}
		unlock()
		err = <-decided
		if listed && err != nil || !listed && (err == nil || !strings.Contains(err.Error(), "no index lists it")) {
			t.Errorf("listed %v: %v", listed, err)
		}
	}
}

// TestNamingWaitsForLook names a set while another process examines the directory. The wait can be
// cancelled, and then the old set must be unchanged.
func TestNamingWaitsForLook(t *testing.T) {
	synctest.Test(t, testNamingWaitsForLook)
}

func testNamingWaitsForLook(t *testing.T) {
	folder := t.TempDir()
	stem := filepath.Join(folder, "out")
	mustWriteSet(t, stem, "abcd", Split{Bytes: 1})
	looking := setNames{stem: stem}
	unlock, err := looking.lock(t.Context(), filelock.Shared)
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(errInjected) })
	if err := writeSetUntil(ctx, stem, nil, "xyz", Split{Files: 2}); !errors.Is(err, errInjected) {
		t.Errorf("cancelled, the error is %v", err)
	}
	if all := string(slices.Concat(readSet(t, stem, 0)...)); all != "abcd" || len(testfiles.Names(t, folder)) != 5 {
		t.Errorf("cancelled, the set has %q, and the directory %q", all, testfiles.Names(t, folder))
	}

	time.AfterFunc(50*time.Millisecond, unlock)
	if err := writeSet(stem, nil, "xyz", Split{Files: 2}); err != nil {
		t.Error(err)
	}
	if all := string(slices.Concat(readSet(t, stem, 0)...)); all != "xyz" {
		t.Errorf("the set has %q", all)
	}
}
