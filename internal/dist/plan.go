package dist

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/extsort/extsort/chunker"
	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/chunker/plan"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/internal/filename"
	"github.com/extsort/extsort/internal/remote"
	"github.com/extsort/extsort/internal/safely"
)

// schema is the version of all files of a plan. It changes when a name disappears or changes its
// meaning.
const schema = 2

// A Plan describes a sort: its inputs, the number of runs and parts, and the destination.
type Plan struct {
	Schema      int         `json:"schema"`
	Fingerprint string      `json:"fingerprint"` // of all other fields
	Inputs      []File      `json:"inputs"`
	Record      format.Spec `json:"record"`
	Reverse     bool        `json:"reverse"`
	Records     int64       `json:"records"`      // total of all inputs
	RecordBytes int         `json:"record_bytes"` //
	Runs        int         `json:"runs"`
	Parts       int         `json:"parts"`
	// Directory or prefix of the parts; with OneFile, a file.
	Output    string `json:"output"`
	RawOutput []byte `json:"output_base64,omitempty"` // the same, if it is not UTF-8
	OneFile   bool   `json:"one_file"`
	// Records of a run per key in its index; 0: no index.
	IndexEvery int64 `json:"index_every,omitempty"`

	// The data around the records of each input, as in extsort.Options.
	SkipBytes    int64 `json:"skip_bytes,omitempty"`
	InputRecords int64 `json:"input_records,omitempty"`
	SkipTail     int64 `json:"skip_tail,omitempty"`

	folder string
	keyer  *format.Keyer
}

// File identifies an input and the version of it that existed when the plan was made.
type File struct {
	Name    string `json:"name"`
	RawName []byte `json:"name_base64,omitempty"` // the same, if it is not UTF-8
	Stamp   string `json:"stamp"`                 // size and modification time, or ETag
	Records int64  `json:"records"`
}

// A Request contains the parameters of a plan.
type Request struct {
	Inputs   []string
	Record   format.Spec
	Reverse  bool
	Runs     int   // 0: determined by RunBytes
	RunBytes int64 // approximate size of a run
	Parts    int   // 0: same as the number of runs
	Output   string
	OneFile  bool
	NoIndex  bool // runs have no index

	SkipBytes    int64 // this and the next two are as in extsort.Options
	InputRecords int64
	SkipTail     int64
}

// MaxTasks limits the runs and the parts of a plan, because the cuts contain a number for each
// pair of them.
const MaxTasks = 10_000

// PlanFile returns the name of the file that contains the plan of a directory.
func PlanFile(folder string) string {
	return filepath.Join(folder, planName)
}

// CreatePlan makes a plan and stores it in folder, which must be new or empty, or contain the same
// plan.
func CreatePlan(ctx context.Context, folder string, r Request) (*Plan, error) {
	p, err := r.newPlan(ctx)
	if err != nil {
		return nil, err
	}
	p.folder = folder
	old, err := ReadPlan(folder)
	switch {
	case err == nil && old.Fingerprint == p.Fingerprint:
		return p, p.makePartial()
	case err == nil:
		return nil, fmt.Errorf(
			"%s: contains another plan: remove the directory to start over, or name "+
				"another",
			folder,
		)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if err = p.makeFolders(ctx); err == nil {
		err = p.makePartial()
	}
	if err != nil {
		return nil, err
	}
	return p, writeJSON(ctx, p.path(planName), p)
}

// newPlan examines the inputs.
func (r *Request) newPlan(ctx context.Context) (*Plan, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	p := &Plan{
		Schema: schema, Record: r.Record, Reverse: r.Reverse, Runs: r.Runs, Parts: r.Parts, OneFile: r.OneFile,
		SkipBytes: r.SkipBytes, InputRecords: r.InputRecords, SkipTail: r.SkipTail,
	}
	var err error
	if p.Output, err = absolute(r.Output); err != nil {
		return nil, err
	}
	if p.OneFile {
		p.Output = followed(p.Output)
	}
	p.RawOutput = filename.Raw(p.Output)
	frame := input.Frame{
		Skip:    r.SkipBytes,
		Records: r.InputRecords,
		Tail:    r.SkipTail,
	}
	kind := input.Kind{Spec: r.Record, Frame: frame}
	files, err := input.Open(
		ctx, kind, input.Named(r.Inputs...), nil, format.CommonWindow,
	)
	if err != nil {
		return nil, err
	}
	defer chunker.NewDataset(files).Close() // closing files that were only read cannot lose data
	for i, in := range files {
		if err := p.addInput(r.Inputs[i], in); err != nil {
			return nil, err
		}
	}
	p.RecordBytes = files[0].Header.Layout().RecordSize
	if p.Runs == 0 {
		p.Runs = int(max((p.Bytes()+r.RunBytes-1)/r.RunBytes, 1))
	}
	p.Parts = cmp.Or(p.Parts, p.Runs)
	if max(p.Runs, p.Parts) > MaxTasks {
		return nil, fmt.Errorf(
			"%d runs and %d parts: at most %d of each can be planned (larger runs: --run-size)",
			p.Runs,
			p.Parts,
			MaxTasks,
		)
	}
	if !r.NoIndex {
		p.IndexEvery = indexEvery(p.Records, p.Runs, p.Parts)
	}
	p.Fingerprint = p.fingerprint()
	p.keyer, err = keyerOf(p)
	return p, err
}

func (r *Request) validate() error {
	switch {
	case len(r.Inputs) == 0:
		return errors.New(
			"dist plan: name the inputs after the directory of the plan",
		)
	case r.Record.Validate() == nil && !r.Record.Container().IsPlain:
		return fmt.Errorf(
			"-f %s: dist sorts plain records only: describe them with -t or -R",
			r.Record.Format,
		)
	case r.OneFile && remote.IsURL(r.Output):
		return errors.New(
			"--into: many machines cannot write one object: use -o to write one per part, and join " +
				"them with extsort dist cat -o",
		)
	case r.Output == "":
		return errors.New(
			"dist plan: name the output: -o DIR for one file per part, or --into FILE",
		)
	}
	return cmp.Or(r.Record.Validate(), remote.Writable(r.Output))
}

// addInput adds an input to the plan. Other machines must be able to read slices of it at any
// offset.
func (p *Plan) addInput(name string, in *input.Input) error {
	if !in.Seekable() ||
		in.IsDisk() { // there is no way to notice that a disk was changed
		return fmt.Errorf(
			"%s: is compressed or not a regular file, and cannot be cut into slices: "+
				"decompress it first",
			in.Name,
		)
	}
	name, err := absolute(name)
	if err != nil {
		return err
	}
	from, missing := os.Stat(name)
	if to, err := os.Stat(p.Output); missing == nil && err == nil &&
		os.SameFile(from, to) {
		return fmt.Errorf(
			"%s: is both an input and the output, but repeated tasks read it again: name another",
			in.Name,
		)
	}
	if isPart(p, name) {
		return fmt.Errorf(
			"%s: would be replaced by a part of output %s of the same name: name another output",
			in.Name,
			p.Output,
		)
	}
	p.Inputs = append(
		p.Inputs, File{name, filename.Raw(name), in.Stamp(), in.Records},
	)
	p.Records += in.Records
	return nil
}

// isPart reports whether a part of the output would replace a file.
func isPart(p *Plan, name string) bool {
	if p.OneFile || !strings.HasPrefix(filepath.Base(name), partPrefix) {
		return false
	}
	folder, err := os.Stat(filepath.Dir(name))
	output, missing := os.Stat(p.Output)
	return err == nil && missing == nil && os.SameFile(folder, output)
}

// followed returns the target of a symbolic link to a file, because a rename would replace the
// link. It keeps links to directories, which may differ between machines.
func followed(name string) string {
	for range 40 { // the limit of Linux
		target, err := os.Readlink(name)
		if err != nil {
			return name
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(name), target)
		}
		name = target
	}
	return name
}

// fingerprint returns the fingerprint of all values that affect tasks.
func (p *Plan) fingerprint() string {
	plain := *p
	plain.Fingerprint = ""
	text, _ := json.Marshal(plain) // cannot fail
	return fmt.Sprintf("%x", sha256.Sum256(text))[:32]
}

// ReadPlan reads the plan of a directory.
func ReadPlan(folder string) (*Plan, error) {
	p := &Plan{folder: folder}
	if err := readJSON(p.path(planName), p); err != nil {
		if errors.Is(err, errDamaged) {
			err = fmt.Errorf(
				"%w: remove it and make the same plan again, which keeps finished tasks",
				err,
			)
		}
		return nil, err
	}
	p.Output = filename.Restore(p.Output, p.RawOutput)
	for i := range p.Inputs {
		f := &p.Inputs[i]
		f.Name = filename.Restore(f.Name, f.RawName)
	}
	if p.Schema != schema || p.Fingerprint != p.fingerprint() {
		return nil, fmt.Errorf(
			"%s: was changed, or belongs to another version of extsort: create the plan "+
				"again",
			p.path(planName),
		)
	}
	var err error
	if p.keyer, err = keyerOf(p); err != nil {
		return nil, fmt.Errorf("%s: %w", p.path(planName), err)
	}
	return p, nil
}

func keyerOf(p *Plan) (*format.Keyer, error) {
	header, err := p.Record.NewHeader()
	if err != nil {
		return nil, err
	}
	layout := header.Layout()
	if p.Reverse {
		layout = layout.Reverse()
	}
	return format.NewKeyer(layout)
}

// checkInputs returns an error if an input has changed since the plan was made.
func (p *Plan) checkInputs(ctx context.Context) error {
	return runConcurrently(ctx, len(p.Inputs), func(ctx context.Context, i int) error {
		f := p.Inputs[i]
		_, now, err := fileStamp(ctx, f.Name)
		if err == nil && now != f.Stamp {
			err = fmt.Errorf(
				"%s: has changed since the plan was made, from %s to %s (create the plan again, "+
					"in another directory)",
				remote.WithoutSecrets(f.Name),
				f.Stamp,
				now,
			)
		}
		return err
	})
}

// runConcurrently calls do with 0 to n-1, several at a time, because most calls wait for a store.
// After an error, it cancels the running calls and starts no others. It returns the first error
// that is not the result of this cancellation.
func runConcurrently(
	ctx context.Context, n int, do func(ctx context.Context, i int) error,
) error {
	// With the context of an errgroup, the other calls would return the error of the failed one.
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, n)
	var group safely.Group
	group.SetLimit(plan.RemoteRequests)
	for i := 0; i < n && within.Err() == nil; i++ {
		group.Go(func() error {
			errs[i] = safely.Call(func() error { return do(within, i) })
			if errs[i] != nil {
				cancel()
			}
			return nil
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return cmp.Or(append(errs, context.Cause(ctx))...)
}

// An Estimate is the predicted cost of a plan.
type Estimate struct {
	Moved      int64   // bytes read by all tasks; they also write this many
	RunSeconds float64 // seconds of one task that sorts a run, on a machine with a given profile
	Merge      float64 // seconds of one task that merges a part
}

// Estimate predicts the cost from the rates of a machine with the given number of workers. The
// time of a task is that of its disk or that of its processors, whichever is longer. If the
// shared file system is slower than the disk of the profile, tasks take longer.
func (p *Plan) Estimate(machine *plan.Profile, workers int) Estimate {
	size := float64(p.RecordBytes)
	power := math.Pow(float64(workers), machine.SortPower)
	task := func(tasks int, seconds float64) float64 {
		records := float64(p.Records) / float64(tasks)
		return machine.Start + machine.Sync + records*max(
			2*size/machine.DiskBytes, seconds/power,
		)
	}
	levels := math.Ceil(math.Log2(float64(max(p.Runs, 2))))
	return Estimate{
		Moved: 2 * p.Bytes(),
		RunSeconds: task(
			p.Runs, machine.Sort+machine.Gather+size/machine.CopyBytes,
		),
		Merge: task(
			p.Parts, levels*machine.Refer+machine.Follow+size/machine.CopyBytes,
		),
	}
}
