package opencl

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/internal/measured"
)

// storeVersion is the version of the form of a storedTuning. Files of other versions are ignored.
const storeVersion = 1

// storedTuning is the content of the file that stores the Tuning of one device.
type storedTuning struct {
	Version int       `json:"version"`
	Device  string    `json:"device"`
	Driver  string    `json:"driver"`
	Kernels string    `json:"kernels"` // Fingerprint
	Tuned   time.Time `json:"tuned"`
	Tuning  Tuning    `json:"tuning"`
}

// LoadTuning returns the stored Tuning of a device, or nil if nothing valid is stored or the
// device belongs to another driver. A damaged file counts as none, because a Tuning may only ever
// make a sort faster.
func LoadTuning(info device.Info) *Tuning {
	if !Owns(info) {
		return nil
	}
	name, err := tuningPath(info)
	if err != nil {
		return nil
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	var stored storedTuning
	if json.Unmarshal(content, &stored) != nil || !stored.isOf(info) ||
		!stored.Tuning.plausible() {
		return nil
	}
	return &stored.Tuning
}

func (s *storedTuning) isOf(info device.Info) bool {
	return s.Version == storeVersion && s.Device == info.Name &&
		s.Driver == info.Driver &&
		s.Kernels == Fingerprint()
}

// maxRate is far above any rate or number of records that can be measured.
const maxRate = 1e15

// plausible reports whether all rates are possible. Others would mislead the planner. Parameters
// need no check, because the device rejects invalid ones.
func (t *Tuning) plausible() bool {
	rates := []float64{t.LinkRate, t.SortRate}
	for _, s := range slices.Concat(t.Sorts, t.Tiny) {
		rates = append(rates, s.Rate, float64(s.Records))
	}
	return !slices.ContainsFunc(rates, func(r float64) bool {
		return r < 0 || math.IsInf(r, 0) || r > maxRate
	})
}

// SaveTuning stores the Tuning of a device and returns the name of the file, which appears
// completely or not at all.
func SaveTuning(info device.Info, t Tuning) (string, error) {
	name, err := tuningPath(info)
	if err != nil {
		return "", err
	}
	err = measured.Save(name, storedTuning{
		Version: storeVersion,
		Device:  info.Name,
		Driver:  info.Driver,
		Kernels: Fingerprint(),
		Tuned:   time.Now().UTC().Truncate(time.Second),
		Tuning:  t,
	})
	if err != nil {
		return "", fmt.Errorf("store the tuning of %s: %w", info.Name, err)
	}
	return name, nil
}

// ForgetTuning removes the stored Tuning of a device and returns the name of the file, or "" if
// nothing was stored.
func ForgetTuning(info device.Info) (string, error) {
	if !Owns(info) {
		return "", nil
	}
	name, err := tuningPath(info)
	if err != nil {
		return "", err
	}
	return measured.Remove(name)
}

// Merge returns the new Tuning, completed with the known sorts of keys that the new one lacks.
// known may be nil.
func (t Tuning) Merge(known *Tuning) Tuning {
	if known == nil {
		return t
	}
	if t.SortRate == 0 {
		t.SortRate = known.SortRate
	}
	searched := map[KeyKind]bool{}
	for _, s := range t.Sorts {
		searched[s.Key] = true
	}
	again := func(s TunedSort) bool { return searched[s.Key] }
	t.Sorts = append(
		t.Sorts, slices.DeleteFunc(slices.Clone(known.Sorts), again)...,
	)
	t.Tiny = append(
		t.Tiny, slices.DeleteFunc(slices.Clone(known.Tiny), again)...,
	)
	return t
}

func tuningPath(info device.Info) (string, error) {
	return measured.Path(info.Name, info.Driver, Fingerprint())
}
