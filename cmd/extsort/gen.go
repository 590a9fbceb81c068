package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/extsort/extsort/chunker/input"
	"github.com/extsort/extsort/device"
	"github.com/extsort/extsort/format"
	"github.com/extsort/extsort/merge/output"
)

// genFlags describes the test data to write.
type genFlags struct {
	record        format.Spec
	output        string
	compress      string
	records       int64
	bytes         int64
	dist          string
	seed          uint64
	workers       int
	progress      string
	printsSummary bool // report at the end
}

func genDataFlags(g group, v *flagValues) {
	f := &v.gen
	f.dist = "uniform"
	g.add(
		amount(&f.records, "COUNT", parseCount), "count,n", "number of records",
	).
		hints("records", "rows", "number")
	g.add(
		amount(&f.bytes, "SIZE", parseByteLimit),
		"size",
		"total size of the records, rounded down to whole records",
	).
		hints("bytes")
	g.add(
		oneOf(&f.dist, "NAME", format.Distributions...),
		"dist",
		"distribution of the keys",
	).
		hints("distribution")
	g.add(parsed(&f.seed, "N", parseSeed), "seed",
		"seed of the random numbers; the same seed gives the same bytes on every machine; otherwise seed 0")
}

func (a *app) genCommand() *cobra.Command {
	v := &flagValues{}
	return verb("gen [flags]",
		"Write test data: records whose keys follow a distribution. The same seed gives\nthe same bytes on every machine.",
		`  extsort gen -t u64 --size 1G -o keys.bin
  extsort gen -f gensort -n 1000000 --dist zipf --seed 7 -o records.bin
  extsort gen -R 16 -k 0:f64 -n 1000 | extsort -R 16 -k 0:f64 | xxd`,
		v, func(cmd *cobra.Command, _ []string) error {
			f := v.gen
			f.record = v.opt.Record
			f.workers = v.opt.Workers
			f.output = v.opt.Output
			f.compress = v.opt.Compress
			f.progress = v.report.progress
			f.printsSummary = true
			return a.gen(cmd.Context(), &f)
		})
}

func (a *app) gen(ctx context.Context, f *genFlags) error {
	header, records, err := f.headerAndRecords()
	if err != nil {
		return err
	}
	size := header.Layout().RecordSize
	if whole := records * int64(size); f.bytes > whole {
		a.warn(
			fmt.Sprintf("--size: %d bytes is not a multiple of the record size, %d: %d bytes are written",
				f.bytes, size, whole),
		)
	}
	if doubt := misnamed(f.output, f.compress, f.record.Container().IsArray); doubt != "" {
		a.warn(doubt)
	}
	if err := a.checkOutput(f.output); err != nil {
		return err
	}
	generator, err := format.NewGenerator(
		header.Layout(), f.dist, f.seed, records,
	)
	if err != nil {
		return err
	}
	sink, err := a.openSink(ctx, f, header, records)
	if err != nil {
		return err
	}
	progress := a.startBars(f.progress)
	progress.Begin("generate", records*int64(size))
	defer progress.Close()
	write := device.BlockWriterFunc(func(ctx context.Context, first int64, block []byte) error {
		defer progress.Add(int64(len(block)))
		return sink.WriteBlock(ctx, first, block)
	})
	source := input.ReaderSource(
		generatorReader{generator, int64(size)}, 0, records, size,
	)
	if err := device.Copy(
		ctx,
		source,
		f.workers,
		generationBlock/size,
		size,
		write,
	); err != nil {
		return errors.Join(err, sink.Abort())
	}
	if err := sink.Commit(ctx, records); err != nil {
		return err
	}
	made := progress.Snapshot()
	progress.Close()
	if f.printsSummary {
		progress.Done("generated", made.Done, made.Elapsed.Seconds())
	}
	return nil
}

// gen uploads objects in parts of remotePart bytes, at most remoteParts of them at a time.
const remotePart, remoteParts = 16 << 20, 8

func (a *app) openSink(
	ctx context.Context, f *genFlags, header *format.Header, records int64,
) (
	sink *output.Sink, err error) {
	compression, err := format.ParseCompression(f.compress, f.output)
	if err != nil {
		return nil, err
	}
	opt := output.Options{
		RecordSize:  header.Layout().RecordSize,
		Records:     records,
		Header:      header.Encode,
		MaxRecords:  header.MaxRecords(),
		Compression: compression,
		Writers:     f.workers,
		Compressors: processors,
	}
	to := a.stdout
	if f.output != "" && f.output != "-" {
		to, err = output.Create(
			ctx,
			f.output,
			opt.File(output.FileOptions{}),
			remotePart,
			remoteParts,
		)
		if err != nil {
			return nil, err
		}
	}
	return output.NewSink(ctx, to, opt)
}

// headerAndRecords returns the header to write and the number of records after it.
func (f *genFlags) headerAndRecords() (header *format.Header, records int64, err error) {
	err = validateRecord(f.record)
	if (f.records == 0) == (f.bytes == 0) {
		err = errors.Join(
			err, errors.New("name the amount: either -n COUNT or --size SIZE"),
		)
	}
	if err == nil {
		header, err = f.record.NewHeader()
	}
	if err != nil {
		return nil, 0, err
	}
	size := int64(header.Layout().RecordSize)
	switch {
	case f.records > math.MaxInt64/size:
		err = fmt.Errorf(
			"-n: %d records of %d bytes are more than fit in a file",
			f.records,
			size,
		)
	case f.bytes > 0 && f.bytes < size:
		err = fmt.Errorf(
			"--size: %d bytes is less than one record of %d", f.bytes, size,
		)
	}
	return header, max(f.records, f.bytes/size), err
}

// generationBlock is the number of bytes that a worker generates at a time: large enough to make
// the hand-over cheap, and small enough to be still in the cache when it is written.
const generationBlock = 1 << 20

// generatorReader makes the records of a generator readable like a file.
type generatorReader struct {
	*format.Generator
	size int64 // bytes per record
}

func (g generatorReader) ReadAt(p []byte, off int64) (int, error) {
	g.Fill(p, off/g.size)
	return len(p), nil
}
