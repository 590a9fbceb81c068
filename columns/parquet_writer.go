package columns

import "github.com/apache/arrow-go/v18/parquet/file"

// A parquetWriter writes row groups of a Parquet file.
type parquetWriter struct {
	layout *layout
	writer *file.Writer
	group  file.BufferedRowGroupWriter
}

func (w *parquetWriter) start() (encoders []encoder, err error) {
	if w.group, err = w.writer.AppendBufferedRowGroupChecked(); err != nil {
		return nil, err
	}
	for _, c := range w.layout.columns {
		chunk, err := w.group.Column(c.index)
		if err != nil {
			return nil, err
		}
		e, err := newEncoder(w.layout, c, chunk)
		if err != nil {
			return nil, err
		}
		encoders = append(encoders, e)
	}
	return encoders, nil
}

func (w *parquetWriter) end() error { return w.group.Close() }

func (w *parquetWriter) close() error { return w.writer.Close() }
