package console

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"regexp"
)

//go:embed planpage.html
var planHTML string

var planTemplate = template.Must(template.New("plan").Parse(planHTML))

// linked matches what joins one module to others.
var linked = regexp.MustCompile(`(?m)^import .*\n|^export `)

// PlanPage returns a page that shows a plan, an object of the HTTP API's form, like the console. It is self-contained.
func PlanPage(statement string, plan any) ([]byte, error) {
	tree, err := json.Marshal(plan) // with <, > and & escaped, so that a script may contain it
	if err != nil {
		return nil, err
	}
	var script []byte
	for _, name := range []string{"dom.js", "plan.js", "planview.js"} {
		module, err := static.ReadFile("static/" + name)
		if err != nil {
			return nil, err
		}
		script = append(script, linked.ReplaceAll(module, nil)...)
	}
	style, err := static.ReadFile("static/plan.css")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = planTemplate.Execute(&b, map[string]any{
		"Statement": statement, "Style": template.CSS(style), "Script": template.JS(script), "Plan": template.JS(tree), //nolint:gosec // the program contains the first two; json.Marshal built the third
	})
	return b.Bytes(), err
}
