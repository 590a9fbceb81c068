package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"
)

// start is the line that precedes the runs in the file each time the table is started.
type start struct {
	Started  time.Time `json:"started"`
	Machine  machine   `json:"machine"`
	Size     int64     `json:"size"` // bytes of each workload
	Versions []version `json:"versions"`
	Skipped  []string  `json:"skipped,omitempty"` // skipped places and peers, with reasons
	// Memory limit of a confined run; 0: table of workloads.
	Limit  int64    `json:"limit,omitempty"`
	Cgroup string   `json:"cgroup,omitempty"` // version of cgroups used for the limit
	Peers  []string `json:"peers,omitempty"`  // including their versions
}

// entry is the line of one run.
type entry struct {
	Row       string  `json:"row"`
	Contender string  `json:"contender"`
	Run       int     `json:"run"`
	Seed      uint64  `json:"seed"` // seed for the order of the runs of the row
	Seconds   float64 `json:"seconds"`
	Processor float64 `json:"processor_seconds"` // user and system
	User      float64 `json:"user_seconds,omitempty"`
	System    float64 `json:"system_seconds,omitempty"`
	Peak      int64   `json:"peak_memory,omitempty"`
	Read      int64   `json:"disk_bytes_read,omitempty"`
	Written   int64   `json:"disk_bytes_written,omitempty"`
	// Traffic of the disk of the data, including other processes.
	DeviceRead    int64 `json:"device_bytes_read,omitempty"`
	DeviceWritten int64 `json:"device_bytes_written,omitempty"`

	Failed       string  `json:"failed,omitempty"`
	TotalSeconds float64 `json:"took"` // seconds, including untimed steps

	// Values reported by extsort; 0 or "" if it did not report them.
	RanStrategy      string  `json:"ran,omitempty"`
	Spilled          int64   `json:"bytes_spilled,omitempty"`
	Predicted        string  `json:"predicted,omitempty"`
	PredictedSeconds float64 `json:"predicted_seconds,omitempty"`
}

// A statsFields contains the fields of extsort's --stats=json output that the table needs.
type statsFields struct {
	Strategy string `json:"strategy"`
	Spilled  int64  `json:"bytes_spilled"`
	Plan     struct {
		Strategy string  `json:"strategy"`
		Seconds  float64 `json:"seconds"`
	} `json:"plan"`
}

// setMeasurement stores the measurement of a run, including the values reported by extsort.
func (e *entry) setMeasurement(m measurement) {
	e.Seconds = m.seconds
	e.Processor = m.user + m.system
	e.User = m.user
	e.System = m.system
	e.Peak = m.peak
	e.Read = m.disk.read
	e.Written = m.disk.written
	e.DeviceRead = m.device.read
	e.DeviceWritten = m.device.written
	e.setReported(m.stderr)
}

// setReported stores the values that extsort reported on standard error. Other programs report
// nothing.
func (e *entry) setReported(said []byte) {
	var t statsFields
	if found, err := statistics(said, &t); !found || err != nil {
		return
	}
	e.RanStrategy = t.Strategy
	e.Spilled = t.Spilled
	e.Predicted = t.Plan.Strategy
	e.PredictedSeconds = t.Plan.Seconds
}

// tableLog is the content of the file of a table.
type tableLog struct {
	starts        []start
	runs          []entry
	completeBytes int64 // bytes of complete lines
	file          *os.File
}

// readLog reads the file. It ignores an incomplete last line, which a crash can leave.
func readLog(name string) (*tableLog, error) {
	text, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	l := &tableLog{completeBytes: int64(bytes.LastIndexByte(text, '\n') + 1)}
	for line := range bytes.Lines(text[:l.completeBytes]) {
		if err := l.addLine(line); err != nil {
			return nil, fmt.Errorf(
				"%s: line %d: %w", name, len(l.starts)+len(l.runs)+1, err,
			)
		}
	}
	return l, nil
}

func (l *tableLog) addLine(line []byte) error {
	var e entry
	var s start
	if err := errors.Join(json.Unmarshal(line, &e), json.Unmarshal(line, &s)); err != nil {
		return err
	}
	if e.Row != "" {
		l.runs = append(l.runs, e)
	} else {
		l.starts = append(l.starts, s)
	}
	return nil
}

// openLog reads the file and opens it for appending. REQUIRES: its runs have the same size and
// limit, and the same commands under the same names.
func openLog(name string, s start) (*tableLog, error) {
	l, err := readLog(name)
	if err != nil {
		return nil, err
	}
	if err := l.checkStart(s); err != nil {
		return nil, fmt.Errorf("%s: %w: name another file with --out", name, err)
	}
	if l.file, err = os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o666); err != nil {
		return nil, err
	}
	l.starts = append(l.starts, s)
	return l, errors.Join(l.file.Truncate(l.completeBytes), l.write(s))
}

// regime describes the resources that the runs may use.
func (s start) regime() string {
	if s.Limit == 0 {
		return "on the whole machine"
	}
	return fmt.Sprintf(
		"in %s of memory by cgroup %s", binarySize(s.Limit), s.Cgroup,
	)
}

func (l *tableLog) checkStart(s start) error {
	for _, before := range l.starts {
		if before.Size != s.Size {
			return fmt.Errorf(
				"its runs sort %s of data, not %s",
				binarySize(before.Size),
				binarySize(s.Size),
			)
		}
		if before.Limit != s.Limit || before.Cgroup != s.Cgroup {
			return fmt.Errorf(
				"its runs are %s, not %s", before.regime(), s.regime(),
			)
		}
		for _, v := range s.Versions {
			other := func(w version) bool {
				return w.Name == v.Name && w.Sum != v.Sum
			}
			if slices.ContainsFunc(before.Versions, other) {
				return fmt.Errorf(
					"its runs of %s used another command", v.Name,
				)
			}
		}
	}
	return nil
}

// add appends a run. It writes the line with one call, so that the file consists of complete
// lines at any time.
func (l *tableLog) add(e entry) error {
	l.runs = append(l.runs, e)
	return l.write(e)
}

func (l *tableLog) write(line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(text, '\n'))
	return err
}

// runsOf returns the runs of a contender in a row.
func (l *tableLog) runsOf(row, contender string) []entry {
	var found []entry
	for _, e := range l.runs {
		if e.Row == row && e.Contender == contender {
			found = append(found, e)
		}
	}
	return found
}

// expectedTime returns how long a run of a row will take, including untimed steps. It uses the
// earlier runs of the row. Without any, it uses the runs of all rows, and without these, the speed
// of a slow disk.
func (l *tableLog) expectedTime(row string, size int64) time.Duration {
	var same, all []float64
	for _, e := range l.runs {
		all = append(all, e.TotalSeconds)
		if e.Row == row {
			same = append(same, e.TotalSeconds)
		}
	}
	seconds := 0.1 + 5*float64(size)/(1<<30)
	if len(same) > 0 {
		seconds = mean(same)
	} else if len(all) > 0 {
		seconds = mean(all)
	}
	return time.Duration(seconds * float64(time.Second))
}
