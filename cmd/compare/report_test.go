package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sampleReport contains a yardstick, extsort at half its speed, and a peer that failed.
func sampleReport() report {
	s := section{Name: "u64", Title: "64-bit keys, uniform", Size: "128 records, 1.0 KiB", Bytes: 1 << 30,
		LeftOut: []string{"cupy: it sorts numbers only"},
		Results: []result{
			{Name: copyOnce, Kind: yardstick, Command: "cp in out", Seconds: []float64{1.1, 1.07374, 1}},
			{Name: copyTwice, Kind: yardstick, Command: "cp in copy && cp copy out", Seconds: []float64{4.29497}},
			{Name: "extsort", Kind: own, Memory: 256 << 20, Command: "extsort -t u64", Seconds: []float64{2.14748},
				PeakMemory: 200 << 20},
			{Name: "NumPy", Kind: peer, Command: "python3", Failed: "out of memory"},
		}}
	for i := range s.Results {
		s.Results[i].Summary = summarize(s.Results[i].Seconds)
	}
	s.relate()
	return report{Machine: machine{CPU: "a CPU", Cores: 2, Memory: 8 << 30, System: "Linux 6", FileSystem: "ext4"},
		Versions: []string{"extsort 1"}, Arguments: []string{"--size", "1G"}, Runs: 3, Workloads: []section{s}}
}

func TestJSONReadsBack(t *testing.T) {
	r := sampleReport()
	var b bytes.Buffer
	if err := r.writeJSON(&b); err != nil {
		t.Fatal(err)
	}
	var back report
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, back); d != "" {
		t.Error(d)
	}
}

func TestRatiosNeedYardsticks(t *testing.T) {
	s := section{Bytes: 100, Results: []result{{Name: "extsort", Summary: summary{Median: 2}}}}
	s.relate()
	if r := s.Results[0]; r.PerCopy != 0 || r.PerTwo != 0 || r.Rate != 50 {
		t.Errorf("without a yardstick: %+v", r)
	}
}

func TestVerdict(t *testing.T) {
	r := sampleReport()
	if err := r.verdict(); err != nil {
		t.Errorf("a peer that fails is no fault of ours: %v", err)
	}
	r.Workloads[0].Results[2].Failed = "the output is not in order"
	if err := r.verdict(); !errors.Is(err, errWrong) {
		t.Errorf("a wrong output of extsort gave %v", err)
	}
}
