// Package profile measures the machine for the cost model of package plan, and keeps what it found.
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

// Kept is what is kept of this machine: who measured it and when, and the file.
type Kept struct {
	machine
	Command  string        `json:"command"`
	Measured time.Time     `json:"measured"`
	Profile  *plan.Profile `json:"profile"`

	Disks map[string]plan.Disk `json:"disks,omitempty"` // by their ID
	File  string               `json:"-"`               // "": nothing is kept, and the profile is the default
}

// machine is what a profile holds for.
type machine struct {
	Version    int    `json:"version"` // of the file and of what its prices mean
	Processor  string `json:"processor"`
	Processors int    `json:"processors"`
}

func thisMachine() machine { return machine{1, cpu.New().Info().Name, runtime.NumCPU()} }

func (m machine) path() (string, error) {
	return measured.Path(m.Processor, strconv.Itoa(m.Processors))
}

// Load is Known. EXTSORT_PROFILE=default keeps plans independent of what was measured.
func Load() Kept {
	if os.Getenv("EXTSORT_PROFILE") == "default" {
		return unknown()
	}
	return Known()
}

func unknown() Kept { return Kept{Profile: plan.DefaultProfile()} }

// DiskOf is what was measured of the disk that a folder or a file is on, or will be.
func (k Kept) DiskOf(name string) plan.Disk {
	id := diskID(name)
	d := k.Disks[id]
	d.ID = id
	return d
}

// diskID tells the disk that a folder or a file is on, or will be, from others; "": that is not known.
func diskID(name string) string {
	number, known := spill.DeviceOf(name)
	if !known {
		number, known = spill.DeviceOf(filepath.Dir(name))
	}
	if known {
		return strconv.FormatUint(number, 10)
	}
	whole, _ := filepath.Abs(name) // else it has no volume
	return filepath.VolumeName(whole)
}

// On is the profile with what was measured of a folder's disk.
func (k Kept) On(folder string) *plan.Profile {
	p := *k.Profile
	p.DiskBytes = cmp.Or(k.DiskOf(folder).Write, p.DiskBytes)
	return &p
}

// Known is what is kept of this machine.
func Known() Kept {
	m := thisMachine()
	name, _ := m.path() // without one nothing is read
	content, err := os.ReadFile(name)
	k := Kept{File: name}
	if err != nil || json.Unmarshal(content, &k) != nil || k.machine != m || k.Profile == nil {
		return unknown()
	}
	mend(k.Profile)
	maps.DeleteFunc(k.Disks, func(_ string, d plan.Disk) bool { return min(d.Fetch, d.Write, d.Mixed) < 0 })
	return k
}

// Forget removes what is kept of this machine and returns the file's name; "": nothing was kept.
func Forget() (string, error) {
	name, err := thisMachine().path()
	if err != nil {
		return "", err
	}
	return measured.Remove(name)
}

// mend gives prices that are missing, or would mislead, their defaults.
func mend(p *plan.Profile) {
	const most = 1e15
	prices, defaults := reflect.ValueOf(p).Elem(), reflect.ValueOf(*plan.DefaultProfile())
	for i, price := range prices.Fields() {
		if price.Kind() == reflect.Float64 && !(price.Float() > 0 && price.Float() < most) {
			price.Set(defaults.FieldByIndex(i.Index))
		}
	}
}

// Save keeps what Measure found, and by which command, beside what is kept of other disks.
func Save(p *plan.Profile, found map[string]plan.Disk, command string) (k Kept, err error) {
	k = Kept{thisMachine(), command, time.Now().UTC().Truncate(time.Second), p, map[string]plan.Disk{}, ""}
	maps.Copy(k.Disks, Known().Disks)
	maps.Copy(k.Disks, found)
	if k.File, err = k.path(); err == nil {
		err = measured.Save(k.File, k)
	}
	if err != nil {
		err = fmt.Errorf("keep the profile of this machine: %w", err)
	}
	return k, err
}
