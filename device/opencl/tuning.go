package opencl

import (
	"fmt"

	"github.com/extsort/extsort/device/opencl/algo"
)

// A KeyKind describes the data that a sort on the device moves: words of 4 or 8 bytes, with or
// without a 32-bit index.
type KeyKind struct {
	WordBytes int
	Values    bool
}

// KeyKinds lists all kinds.
var KeyKinds = []KeyKind{{4, false}, {8, false}, {4, true}, {8, true}}

// String returns u32, u64, u32+u32 or u64+u32.
func (k KeyKind) String() string {
	name := fmt.Sprintf("u%d", 8*k.WordBytes)
	if k.Values {
		name += "+u32"
	}
	return name
}

// ParseKeyKind is the inverse of String.
func ParseKeyKind(name string) (KeyKind, error) {
	for _, k := range KeyKinds {
		if k.String() == name {
			return k, nil
		}
	}
	return KeyKind{}, fmt.Errorf(
		"key %q: use u32, u64, u32+u32 or u64+u32", name,
	)
}

// MarshalText implements encoding.TextMarshaler.
func (k KeyKind) MarshalText() ([]byte, error) {
	return []byte(k.String()), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *KeyKind) UnmarshalText(text []byte) (err error) {
	*k, err = ParseKeyKind(string(text))
	return err
}

// A Tuning contains the measurements of a device. Package tune measures it, and SaveTuning stores
// it. The zero value leaves all choices to the defaults.
type Tuning struct {
	Sorts []TunedSort `json:"sorts,omitempty"`
	Tiny  []TunedSort `json:"tiny,omitempty"` // for up to Records keys
	// Bytes per second between host and device, each way.
	LinkRate float64 `json:"linkRate,omitempty"`
	SortRate float64 `json:"sortRate,omitempty"` // bytes per second of u64 keys
}

// A TunedSort is an algorithm with the parameters that were the fastest for one kind of keys.
type TunedSort struct {
	Key       KeyKind     `json:"key"`
	Algorithm string      `json:"algorithm"`
	Params    algo.Params `json:"params"`
	Records   int64       `json:"records"`               // number of records in the measurement
	Rate      float64     `json:"keysPerSecond"`         // decides between algorithms
	Default   float64     `json:"defaultRate,omitempty"` // the rate of the default parameters
}

// best returns the fastest sort for n keys of a kind, if any was measured.
func (t *Tuning) best(k KeyKind, n int64) (best TunedSort, found bool) {
	for _, s := range t.Tiny {
		if s.Key == k && n <= s.Records {
			return s, true
		}
	}
	for _, s := range t.Sorts {
		if s.Key == k && s.Rate > best.Rate {
			best = s
			found = true
		}
	}
	return best, found
}

// params returns the fastest parameters of an algorithm, or the defaults.
func (t *Tuning) params(algorithm string, k KeyKind) algo.Params {
	for _, s := range t.Sorts {
		if s.Key == k && s.Algorithm == algorithm {
			return s.Params
		}
	}
	return algo.Params{}
}
