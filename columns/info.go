package columns

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/compress"
)

// A Description says what a Parquet or Arrow file contains.
type Description struct {
	File      string              `json:"file"`
	Format    string              `json:"format"`              // Parquet, Arrow file or Arrow stream
	Bytes     int64               `json:"bytes,omitempty"`     // 0: unknown
	Rows      *int64              `json:"rows,omitempty"`      // nil: unknown
	RowGroups int                 `json:"rowGroups,omitempty"` // of Parquet files
	CreatedBy string              `json:"createdBy,omitempty"`
	SortedBy  []string            `json:"sortedBy,omitempty"` // according to the metadata, as -k expects it
	Metadata  map[string]string   `json:"metadata,omitempty"`
	Columns   []ColumnDescription `json:"columns"`
}

// A ColumnDescription describes a column of a file.
type ColumnDescription struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Nullable    bool   `json:"nullable"`
	Compression string `json:"compression,omitempty"`
	Dictionary  bool   `json:"dictionary,omitempty"`
	Refused     string `json:"refused,omitempty"` // why it cannot be sorted, or not be a key
}

// Describe returns what each file contains. It reads only the metadata.
func Describe(names []string, memory int64) (all []Description, err error) {
	m, err := newBudget(memory, 1)
	if err != nil {
		return nil, err
	}
	files, err := expand(names)
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		t, err := openTable([]string{name}, m.columns/2)
		if err != nil {
			return nil, err
		}
		d, err := describe(t.inputs[0])
		t.close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.label(), err)
		}
		all = append(all, d)
	}
	return all, nil
}

func describe(in input) (d Description, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("is damaged: %v", reason)
		}
	}()
	d = Description{File: in.label(), Metadata: map[string]string{}}
	parquet, isParquet := in.(*parquetFile)
	if isParquet {
		parquet.describe(&d)
	} else if arrow, ok := in.(*arrowStream); ok {
		arrow.describe(&d)
	}
	for _, c := range in.columns() {
		one := ColumnDescription{Name: c.name, Type: c.typeText(), Nullable: c.maxLevel > 0, Refused: c.unordered}
		if c.refused != nil {
			one.Refused = strings.TrimPrefix(c.refused.Error(), "column "+c.name+" ")
		}
		if isParquet {
			codec, dictionary, err := parquet.style(c)
			if err != nil {
				return d, err
			}
			one.Dictionary = dictionary
			one.Compression = codecName(codec)
		}
		d.Columns = append(d.Columns, one)
	}
	return d, nil
}

// codecName returns the name of a compression.
func codecName(codec compress.Compression) string {
	for _, c := range pageCodecs {
		if c.codec == codec {
			return c.name
		}
	}
	return strings.ToLower(codec.String())
}

func (in *parquetFile) describe(d *Description) {
	meta := in.reader.MetaData()
	d.Format = "Parquet"
	d.Bytes = in.before.Size()
	d.Rows = &in.rows
	d.RowGroups = meta.NumRowGroups()
	d.CreatedBy = meta.GetCreatedBy()
	keys, _ := in.sortedBy()
	for _, key := range keys {
		text := key.Column
		if key.Desc {
			text += ":desc"
		}
		d.SortedBy = append(d.SortedBy, text)
	}
	pairs := meta.KeyValueMetadata()
	values := pairs.Values()
	for i, key := range pairs.Keys() {
		d.Metadata[key] = values[i]
	}
}

func (in *arrowStream) describe(d *Description) {
	d.Format = "Arrow stream"
	if in.isFile {
		d.Format = "Arrow file"
	}
	if in.before != nil {
		d.Bytes = in.before.Size()
	}
	pairs := in.reader.Schema().Metadata()
	for i, key := range pairs.Keys() {
		d.Metadata[key] = pairs.Values()[i]
	}
}
