// Package profile measures the machine for the cost model of package plan, and stores the
// results.
//
// Only the root package of this module is stable: this package may change in any version.
package profile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"time"

	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/chunker/spill"
	"github.com/extsort/extsort/device/cpu"
	"github.com/extsort/extsort/internal/measured"
)

// Stored is the stored profile of this machine, with its origin and its file.
type Stored struct {
	machine
	Command  string        `json:"command"`
	Measured time.Time     `json:"measured"`
	Profile  *plan.Profile `json:"profile"`

	Disks map[string]plan.Disk `json:"disks,omitempty"` // by disk ID
	// "" if nothing is stored and the profile is the default.
	File string `json:"-"`
}

// machine identifies the machine that a profile is valid for.
type machine struct {
	Version    int    `json:"version"` // version of the file format and of the meaning of prices
	Processor  string `json:"processor"`
	Processors int    `json:"processors"`
}

func thisMachine() machine {
	return machine{1, cpu.New().Info().Name, runtime.NumCPU()}
}

func (m machine) path() (string, error) {
	return measured.Path(m.Processor, strconv.Itoa(m.Processors))
}

// Load returns the result of LoadMeasured. If EXTSORT_PROFILE is "default", it returns the default, so
// that plans do not depend on measurements.
func Load() Stored {
	if os.Getenv("EXTSORT_PROFILE") == "default" {
		return defaultStored()
	}
	return LoadMeasured()
}

func defaultStored() Stored { return Stored{Profile: plan.DefaultProfile()} }

// DiskOf returns the measurements of the disk that contains, or will contain, a directory or a
// file.
func (k Stored) DiskOf(name string) plan.Disk {
	id := diskID(name)
	d := k.Disks[id]
	d.ID = id
	return d
}

// diskID returns an identifier of the disk that contains, or will contain, a directory or a file,
// or "" if not known.
func diskID(name string) string {
	number, known := spill.DeviceOf(name)
	if !known {
		number, known = spill.DeviceOf(filepath.Dir(name))
	}
	if known {
		return strconv.FormatUint(number, 10)
	}
	whole, _ := filepath.Abs(name) // without an absolute path there is no volume
	return filepath.VolumeName(whole)
}

// ProfileFor returns the profile with the measured speed of a directory's disk.
func (k Stored) ProfileFor(folder string) *plan.Profile {
	p := *k.Profile
	p.DiskBytes = cmp.Or(k.DiskOf(folder).Write, p.DiskBytes)
	return &p
}

// LoadMeasured returns the stored profile of this machine, or the default.
func LoadMeasured() Stored {
	m := thisMachine()
	name, _ := m.path() // an error leads to the default below
	content, err := os.ReadFile(name)
	k := Stored{File: name}
	if err != nil || json.Unmarshal(content, &k) != nil || k.machine != m ||
		k.Profile == nil {
		return defaultStored()
	}
	fillMissingPrices(k.Profile)
	maps.DeleteFunc(k.Disks, func(_ string, d plan.Disk) bool {
		return min(d.Fetch, d.Write, d.Mixed) < 0
	})
	return k
}

// Forget removes the stored profile of this machine and returns the name of the removed file, or
// "".
func Forget() (string, error) {
	name, err := thisMachine().path()
	if err != nil {
		return "", err
	}
	return measured.Remove(name)
}

// fillMissingPrices replaces missing or misleading prices by their defaults.
func fillMissingPrices(p *plan.Profile) {
	const most = 1e15
	prices := reflect.ValueOf(p).Elem()
	defaults := reflect.ValueOf(*plan.DefaultProfile())
	for i, price := range prices.Fields() {
		if price.Kind() == reflect.Float64 &&
			!(price.Float() > 0 && price.Float() < most) {
			price.Set(defaults.FieldByIndex(i.Index))
		}
	}
}

// Save stores the results of Measure together with the command that made them. It keeps the
// stored results of other disks.
func Save(
	p *plan.Profile, found map[string]plan.Disk, command string,
) (k Stored, err error) {
	k = Stored{
		thisMachine(),
		command,
		time.Now().UTC().Truncate(time.Second),
		p,
		map[string]plan.Disk{},
		"",
	}
	maps.Copy(k.Disks, LoadMeasured().Disks)
	maps.Copy(k.Disks, found)
	if k.File, err = k.path(); err == nil {
		err = measured.Save(k.File, k)
	}
	if err != nil {
		err = fmt.Errorf("store the profile of this machine: %w", err)
	}
	return k, err
}
