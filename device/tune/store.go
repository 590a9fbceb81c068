package tune

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/device/opencl"
)

// storeVersion is of the form of the file: others are not read.
const storeVersion = 1

// kept is a file of the store.
type kept struct {
	Version int           `json:"version"`
	Device  string        `json:"device"`
	Driver  string        `json:"driver"`
	Kernels string        `json:"kernels"` // opencl.Fingerprint
	Tuned   time.Time     `json:"tuned"`
	Tuning  opencl.Tuning `json:"tuning"`
}

// Load is what was kept of a device, or nil.
func Load(info device.Info) *opencl.Tuning {
	name, err := pathOf(info)
	if err != nil {
		return nil
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	var k kept
	if json.Unmarshal(content, &k) != nil || !k.isOf(info) || !plausible(k.Tuning) {
		return nil
	}
	return &k.Tuning
}

func (k *kept) isOf(info device.Info) bool {
	return k.Version == storeVersion && k.Device == info.Name && k.Driver == info.Driver &&
		k.Kernels == opencl.Fingerprint()
}

// plausible refuses figures that would mislead the planner. Whether parameters work, the device says.
func plausible(t opencl.Tuning) bool {
	rates := []float64{t.LinkRate, t.SortRate}
	for _, s := range append(t.Sorts, t.Tiny...) {
		rates = append(rates, s.Rate, float64(s.Records))
	}
	for _, r := range rates {
		if r < 0 || math.IsInf(r, 0) || r > 1e15 {
			return false
		}
	}
	return true
}

// Describe fills in the rates that have been measured of devices.
func Describe(devices []device.Info) {
	for i := range devices {
		if t := Load(devices[i]); t != nil && devices[i].Kind != device.CPU {
			devices[i].LinkRate, devices[i].SortRate = t.LinkRate, t.SortRate
		}
	}
}

// Save keeps what was measured of a device and returns the file's name. The file appears whole or not at all.
func Save(info device.Info, t opencl.Tuning) (string, error) {
	name, err := pathOf(info)
	if err != nil {
		return "", err
	}
	err = Keep(name, kept{
		Version: storeVersion, Device: info.Name, Driver: info.Driver, Kernels: opencl.Fingerprint(),
		Tuned: time.Now().UTC().Truncate(time.Second), Tuning: t,
	})
	if err != nil {
		return "", fmt.Errorf("keep the tuning of %s: %w", info.Name, err)
	}
	return name, nil
}

// Forget removes what is kept of a device and returns the file's name; "": nothing was kept.
func Forget(info device.Info) (string, error) {
	name, err := pathOf(info)
	if err != nil {
		return "", err
	}
	return Remove(name)
}

// Remove removes a file that was kept and returns its name; "": there is none.
func Remove(name string) (string, error) {
	switch err := os.Remove(name); {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("forget what was measured: %w", err)
	}
	return name, nil
}

// Keep writes what is to be kept, as JSON, to a file that appears whole or not at all.
func Keep(name string, what any) error {
	content, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(name, append(content, '\n'))
}

// writeWhole writes a file by rename, so that nobody reads half of it.
func writeWhole(name string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Merge is what was found, and of the kinds of key that it does not have, what was known.
func Merge(known *opencl.Tuning, found opencl.Tuning) opencl.Tuning {
	if known == nil {
		return found
	}
	if found.SortRate == 0 {
		found.SortRate = known.SortRate
	}
	searched := map[opencl.KeyKind]bool{}
	for _, s := range found.Sorts {
		searched[s.Key] = true
	}
	again := func(s opencl.TunedSort) bool { return searched[s.Key] }
	found.Sorts = append(found.Sorts, slices.DeleteFunc(slices.Clone(known.Sorts), again)...)
	found.Tiny = append(found.Tiny, slices.DeleteFunc(slices.Clone(known.Tiny), again)...)
	return found
}

// pathOf is where the tuning of a device is kept.
func pathOf(info device.Info) (string, error) {
	return Path(info.Name, info.Driver, opencl.Fingerprint())
}

// Path is where something is kept of a device or a machine: the file is named for it and for what else it depends on.
func Path(name string, also ...string) (string, error) {
	folder, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("keep what was measured of %s: %w", name, err)
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{name}, also...), "\x00")))
	return filepath.Join(folder, "extsort", "tune", plain(name)+"-"+hex.EncodeToString(sum[:4])+".json"), nil
}

// plain makes a name that is good in any file system.
func plain(name string) string {
	mapped := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, name)
	return mapped[:min(len(mapped), 60)]
}
