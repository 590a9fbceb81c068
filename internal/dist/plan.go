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

// schema is the form of all files in the folder of a plan: it changes when a name goes or changes its meaning.
const schema = 2

// Plan says what is sorted, in how many runs and parts, and where to.
type Plan struct {
	Schema      int         `json:"schema"`
	Fingerprint string      `json:"fingerprint"` // of all that follows
	Inputs      []File      `json:"inputs"`
	Record      format.Spec `json:"record"`
	Reverse     bool        `json:"reverse"`
	Records     int64       `json:"records"`      // of all inputs
	RecordBytes int         `json:"record_bytes"` //
	Runs        int         `json:"runs"`
	Parts       int         `json:"parts"`
	Output      string      `json:"output"`                  // a folder or prefix for the parts; with OneFile a file
	RawOutput   []byte      `json:"output_base64,omitempty"` // the same, where it is not UTF-8
	OneFile     bool        `json:"one_file"`
	IndexEvery  int64       `json:"index_every,omitempty"` // records of a run; 0: runs have no index

	// What surrounds the records of each input, as in extsort.Options.
	SkipBytes    int64 `json:"skip_bytes,omitempty"`
	InputRecords int64 `json:"input_records,omitempty"`
	SkipTail     int64 `json:"skip_tail,omitempty"`

	folder string
	keyer  *format.Keyer
}

// File is an input as it was when the plan was made.
type File struct {
	Name    string `json:"name"`
	RawName []byte `json:"name_base64,omitempty"` // the same, where it is not UTF-8
	Stamp   string `json:"stamp"`                 // size and time of its last change, or its ETag
	Records int64  `json:"records"`
}

// Request is what a plan is made of.
type Request struct {
	Inputs   []string
	Record   format.Spec
	Reverse  bool
	Runs     int   // 0: as many as RunBytes makes
	RunBytes int64 // of a run, about
	Parts    int   // 0: as many as there are runs
	Output   string
	OneFile  bool
	NoIndex  bool // beside runs

	SkipBytes    int64 // as in extsort.Options, as the next two
	InputRecords int64
	SkipTail     int64
}

// MaxTasks bounds the runs and the parts of a plan, since the cut has a number for each pair of them.
const MaxTasks = 10_000

// PlanFile returns the name of the file that has the plan of a folder.
func PlanFile(folder string) string { return filepath.Join(folder, planName) }

// Make makes the plan that is asked for and keeps it in folder, which must be new or empty, or have the same plan.
func Make(ctx context.Context, folder string, r Request) (*Plan, error) {
	p, err := r.plan(ctx)
	if err != nil {
		return nil, err
	}
	p.folder = folder
	old, err := Read(folder)
	switch {
	case err == nil && old.Fingerprint == p.Fingerprint:
		return p, p.makePartial()
	case err == nil:
		return nil, fmt.Errorf("%s: contains another plan: remove the directory to start over, or name "+
			"another", folder)
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

// plan looks at the inputs.
func (r *Request) plan(ctx context.Context) (*Plan, error) {
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
	frame := input.Frame{Skip: r.SkipBytes, Records: r.InputRecords, Tail: r.SkipTail}
	kind := input.Kind{Spec: r.Record, Frame: frame}
	files, err := input.Open(ctx, kind, input.Named(r.Inputs...), nil, format.CommonWindow)
	if err != nil {
		return nil, err
	}
	defer chunker.NewDataset(files).Close() // which was only read
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
		return nil, fmt.Errorf("%d runs and %d parts: at most %d of each can be planned (larger runs: --run-size)",
			p.Runs, p.Parts, MaxTasks)
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
		return errors.New("dist plan: name the inputs after the directory of the plan")
	case r.Record.Validate() == nil && !r.Record.Container().IsPlain:
		return fmt.Errorf("-f %s: dist sorts plain records only: describe them with -t or -R", r.Record.Format)
	case r.OneFile && remote.Is(r.Output):
		return errors.New("--into: many machines cannot write one object: use -o to write one per part, and join " +
			"them with extsort dist cat -o")
	case r.Output == "":
		return errors.New("dist plan: name the output: -o DIR for one file per part, or --into FILE")
	}
	return cmp.Or(r.Record.Validate(), remote.Writable(r.Output))
}

// addInput adds an input to the plan. Slices of it are read at any place, by other machines.
func (p *Plan) addInput(name string, in *input.Input) error {
	if !in.Seekable() || in.IsDisk() { // nothing tells when a disk was written to
		return fmt.Errorf("%s: is compressed or not a regular file, and cannot be cut into slices: "+
			"decompress it first",
			in.Name)
	}
	name, err := absolute(name)
	if err != nil {
		return err
	}
	from, missing := os.Stat(name)
	if to, err := os.Stat(p.Output); missing == nil && err == nil && os.SameFile(from, to) {
		return fmt.Errorf("%s: is both an input and the output, but repeated tasks read it again: name another",
			in.Name)
	}
	if isPart(p, name) {
		return fmt.Errorf("%s: would be replaced by a part of output %s of the same name: name another output",
			in.Name, p.Output)
	}
	p.Inputs = append(p.Inputs, File{name, filename.Raw(name), in.Stamp(), in.Records})
	p.Records += in.Records
	return nil
}

// isPart reports whether a file would be replaced by a part of the output.
func isPart(p *Plan, name string) bool {
	if p.OneFile || !strings.HasPrefix(filepath.Base(name), partPrefix) {
		return false
	}
	folder, err := os.Stat(filepath.Dir(name))
	output, missing := os.Stat(p.Output)
	return err == nil && missing == nil && os.SameFile(folder, output)
}

// followed returns the name of the file that a symbolic link leads to, since a rename would replace the link. Links to
// folders stay, since they may lead elsewhere on other machines.
func followed(name string) string {
	for range 40 { // as Linux does
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

// fingerprint is that of all that tasks depend on.
func (p *Plan) fingerprint() string {
	plain := *p
	plain.Fingerprint = ""
	text, _ := json.Marshal(plain) // which cannot fail
	return fmt.Sprintf("%x", sha256.Sum256(text))[:32]
}

// Read reads the plan of a folder.
func Read(folder string) (*Plan, error) {
	p := &Plan{folder: folder}
	if err := readJSON(p.path(planName), p); err != nil {
		if errors.Is(err, errDamaged) {
			err = fmt.Errorf("%w: remove it and make the same plan again, which keeps finished tasks", err)
		}
		return nil, err
	}
	p.Output = filename.Restore(p.Output, p.RawOutput)
	for i := range p.Inputs {
		f := &p.Inputs[i]
		f.Name = filename.Restore(f.Name, f.RawName)
	}
	if p.Schema != schema || p.Fingerprint != p.fingerprint() {
		return nil, fmt.Errorf("%s: was changed, or belongs to another version of extsort: create the plan "+
			"again", p.path(planName))
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

// checkInputs refuses inputs that are not as they were when the plan was made.
func (p *Plan) checkInputs(ctx context.Context) error {
	return together(ctx, len(p.Inputs), func(ctx context.Context, i int) error {
		f := p.Inputs[i]
		_, now, err := stamp(ctx, f.Name)
		if err == nil && now != f.Stamp {
			err = fmt.Errorf("%s: has changed since the plan was made, from %s to %s (create the plan again, "+
				"in another directory)", remote.Shown(f.Name), f.Stamp, now)
		}
		return err
	})
}

// together does n things, of which several are under way at the same time: most of them wait for an answer of a store.
// After an error the others end soon, or do not begin. It gives the first one, in their order, of those that came.
func together(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	within, cancel := context.WithCancel(ctx) // one of errgroup would have the error of one as the cause of the others'
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

// Estimate says what a plan costs.
type Estimate struct {
	Moved      int64   // bytes read, and as many written, by all tasks
	RunSeconds float64 // of one task that sorts a run, on a machine of a profile
	Merge      float64 // seconds of one task that merges a part
}

// Estimate predicts from the rates of a machine with so many workers: a task takes as long as its disk, or, where that
// takes longer, its processors. A shared file system that is slower than the disk of the profile makes it slower.
func (p *Plan) Estimate(machine *plan.Profile, workers int) Estimate {
	size, power := float64(p.RecordBytes), math.Pow(float64(workers), machine.SortPower)
	task := func(tasks int, seconds float64) float64 {
		records := float64(p.Records) / float64(tasks)
		return machine.Start + machine.Sync + records*max(2*size/machine.DiskBytes, seconds/power)
	}
	levels := math.Ceil(math.Log2(float64(max(p.Runs, 2))))
	return Estimate{
		Moved:      2 * p.Bytes(),
		RunSeconds: task(p.Runs, machine.Sort+machine.Gather+size/machine.CopyBytes),
		Merge:      task(p.Parts, levels*machine.Refer+machine.Follow+size/machine.CopyBytes),
	}
}
