package columns

// rows are rows in a block of memory.
type rows struct {
	data   []byte
	count  int
	size   int   // the distance of two rows
	starts []int // the place of each row, if the distances differ; otherwise nil
}

// at returns the place of a row.
func (r rows) at(i int) int {
	if r.starts == nil {
		return i * r.size
	}
	return r.starts[i]
}

// part returns count rows from the given one on.
func (r rows) part(from, count int) rows {
	part := rows{data: r.data, count: count, size: r.size}
	if r.starts == nil {
		part.data = r.data[from*r.size:]
	} else {
		part.starts = r.starts[from : from+count]
	}
	return part
}
