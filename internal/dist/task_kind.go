package dist

// A kind is a kind of task, with the directory of its records.
type kind struct{ name, folder string }

var (
	runs  = kind{"run", "runs"}
	cuts  = kind{"cut", "cuts"}
	parts = kind{"merge", "parts"}
)

// tasks returns the number of tasks of a kind.
func (of kind) tasks(p *Plan) int {
	if of == runs {
		return p.Runs
	}
	return p.Parts
}
