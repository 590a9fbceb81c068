package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
)

// report contains all results. --json writes it as JSON.
type report struct {
	Machine   machine   `json:"machine"`
	Versions  []string  `json:"versions"`
	Arguments []string  `json:"arguments"` // of this program
	Runs      int       `json:"runs"`
	Missing   []string  `json:"missing,omitempty"` // other tools that are missing, with reasons
	Workloads []section `json:"workloads"`
}

// section contains the results of one workload.
type section struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Size    string   `json:"size"`
	Bytes   int64    `json:"bytes"`
	LeftOut []string `json:"left,omitempty"` // peers that cannot sort it, with reasons
	Results []result `json:"results"`

	Yardsticks [2]string `json:"-"` // names of the yardsticks; "": copyOnce and copyTwice
}

// result contains the measurements of one contender.
type result struct {
	Name       string    `json:"name"`
	Kind       kind      `json:"kind"`
	Memory     int64     `json:"memory_limit,omitempty"`
	Command    string    `json:"command"`
	Seconds    []float64 `json:"seconds"` // of each counted run
	Summary    summary   `json:"summary"`
	PerCopy    float64   `json:"per_cp,omitempty"`       // ratio of the medians to the first yardstick
	PerTwo     float64   `json:"per_cp_twice,omitempty"` // ratio of the medians to the second one
	Rate       float64   `json:"bytes_per_second,omitempty"`
	PeakMemory int64     `json:"peak_memory,omitempty"`
	Failed     string    `json:"failed,omitempty"`
}

// relate computes the ratios of every result to the yardsticks.
func (s *section) relate() {
	yardsticks := s.yardstickNames()
	once := s.median(yardsticks[0])
	twice := s.median(yardsticks[1])
	for i := range s.Results {
		r := &s.Results[i]
		if r.Failed != "" {
			continue
		}
		r.PerCopy, r.PerTwo = ratio(r.Summary.Median, once), ratio(r.Summary.Median, twice)
		r.Rate = ratio(float64(s.Bytes), r.Summary.Median)
	}
}

// yardstickNames returns the names of the yardsticks.
func (s *section) yardstickNames() [2]string {
	if s.Yardsticks[0] != "" {
		return s.Yardsticks
	}
	return [2]string{copyOnce, copyTwice}
}

// median returns the median of the contender with this name, or 0 if it did not run.
func (s *section) median(name string) float64 {
	at := slices.IndexFunc(s.Results, func(r result) bool {
		return r.Name == name
	})
	if at < 0 {
		return 0
	}
	return s.Results[at].Summary.Median
}

// verdict returns an error if extsort itself failed.
func (r *report) verdict() error {
	for _, s := range r.Workloads {
		for _, result := range s.Results {
			if result.Kind == own && result.Failed != "" {
				return errWrong
			}
		}
	}
	return nil
}

// publish prints the tables and writes the requested files.
func (r *report) publish(stdout io.Writer, jsonFile, svgFile string) error {
	faults := []error{r.writeMarkdown(stdout)}
	if jsonFile != "" {
		faults = append(faults, writeFile(jsonFile, r.writeJSON))
	}
	if svgFile != "" {
		faults = append(faults, writeFile(svgFile, r.writeSVG))
	}
	return errors.Join(faults...)
}

func (r *report) writeJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
