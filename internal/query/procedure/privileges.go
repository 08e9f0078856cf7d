package procedure

import (
	"context"
	"maps"
	"slices"

	"github.com/hopgate/hopgate/internal/access"
	"github.com/hopgate/hopgate/internal/graph"
	"github.com/hopgate/hopgate/internal/query/exec"
	"github.com/hopgate/hopgate/internal/rules"
)

// addPrivileges adds the lists of who may see and change what: what the built-in roles permit, and the access rules of the graph.
func (r *Registry) addPrivileges() {
	const args = "(filter :: STRING, names :: LIST<ANY>) :: "
	r.add("show.privileges"+args+"(access :: STRING, action :: STRING, resource :: STRING, graph :: STRING, segment :: STRING, role :: STRING, "+
		"immutable :: BOOLEAN, +user :: STRING?)", "List who may see and change what in the graph.", r.showPrivileges)
	r.add("show.commands"+args+"(command :: STRING, +immutable :: BOOLEAN)", "List the statements that make the access rules of the graph.",
		r.showCommands((*rules.Rule).Command))
	r.add("show.revokes"+args+"(command :: STRING, +immutable :: BOOLEAN)", "List the statements that remove the access rules of the graph.",
		r.showCommands((*rules.Rule).Revoke))
}

// showCommands lists a statement for each rule.
func (r *Registry) showCommands(statement func(r *rules.Rule, graph string) string) run {
	return func(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
		asked, err := r.asked(ctx, c)
		if err != nil {
			return nil, err
		}
		var out []string
		for i := range asked {
			out = append(out, statement(&asked[i], r.host.Graph(ctx)))
		}
		slices.Sort(out)
		var rows [][]graph.Value
		for _, text := range slices.Compact(out) { // one for vertices and one for edges may have the same
			rows = append(rows, []graph.Value{graph.StringValue(text), graph.BoolValue(false)})
		}
		return rows, nil
	}
}

// asked returns the rules that a list of privileges asks for: those of all roles or of some, for an admin of the graph, or those of the
// caller's own roles.
func (r *Registry) asked(ctx context.Context, c *exec.Call) (out []rules.Rule, err error) {
	name, id := r.host.Graph(ctx), access.Caller(ctx)
	has := func(role string) bool { return listed(c, role) }
	if c.Args[0].Str() != "USER" {
		err = access.Check(ctx, name, access.Admin)
	} else if err = onlySelf(c, id); id != nil {
		own := append(id.RolesIn(name), rules.Public, id.In(name).String())
		has = func(role string) bool { return slices.Contains(own, role) }
	} else {
		return nil, err // no rule applies without authentication
	}
	if err != nil {
		return nil, err
	}
	for _, rule := range rules.Of(c.Graph.Definitions()) {
		if has(rule.Role) {
			out = append(out, rule)
		}
	}
	return out, nil
}

// onlySelf returns an error if a list of a user's privileges asks for those of another one than the caller.
func onlySelf(c *exec.Call, id *access.Identity) error {
	for _, n := range c.Args[1].List() {
		if id == nil || n.Kind() != graph.String || n.Str() != id.Name {
			return graph.Forbidden(graph.PhaseRuntime, "Forbidden", "SHOW USER PRIVILEGES lists those of the caller: users are known by their tokens only")
		}
	}
	return nil
}

func (r *Registry) showPrivileges(ctx context.Context, c *exec.Call) ([][]graph.Value, error) {
	asked, err := r.asked(ctx, c)
	if err != nil {
		return nil, err
	}
	var rows [][]graph.Value
	name, user := r.host.Graph(ctx), graph.Value{}
	if c.Args[0].Str() == "USER" {
		if id := access.Caller(ctx); id != nil {
			user = text(id.Name)
			rows = ownPrivileges(id)
		}
	} else {
		for role := access.Reader; role <= access.Admin; role++ {
			if listed(c, role.String()) {
				rows = append(rows, rolePrivileges(name, role, user)...)
			}
		}
	}
	for i := range asked {
		for _, rule := range asked[i].Split() {
			rows = append(rows, []graph.Value{
				text(accessNames[rule.Effect]), text(actionNames[rule.Action]), text(resourceOf(&rule)), text(name), text(segmentOf(&rule)),
				text(rule.Role), graph.BoolValue(false), user,
			})
		}
	}
	return rows, nil
}

// ownPrivileges returns what the caller's built-in roles permit.
func ownPrivileges(id *access.Identity) (rows [][]graph.Value) {
	if id.Every != access.None {
		rows = rolePrivileges("*", id.Every, text(id.Name))
	}
	for _, name := range slices.Sorted(maps.Keys(id.Graph)) {
		rows = append(rows, rolePrivileges(name, id.Graph[name], text(id.Name))...)
	}
	return rows
}

// rolePrivileges returns what a built-in role permits in a graph.
func rolePrivileges(on string, role access.Role, user graph.Value) (rows [][]graph.Value) {
	for _, a := range []struct {
		need   access.Role
		action string
	}{{access.Reader, "match"}, {access.Writer, "write"}, {access.Admin, "database_actions"}} {
		if role >= a.need {
			rows = append(rows, []graph.Value{
				text("GRANTED"), text(a.action), text("all_properties"), text(on), text("*"), text(role.String()), graph.BoolValue(true), user,
			})
		}
	}
	return rows
}

// The words of Neo4j's list.
var (
	accessNames = map[rules.Effect]string{rules.Grant: "GRANTED", rules.Deny: "DENIED"}
	actionNames = map[rules.Action]string{
		rules.Traverse: "traverse", rules.Read: "read", rules.Match: "match", rules.Create: "create_element", rules.Delete: "delete_element",
		rules.SetLabel: "set_label", rules.RemoveLabel: "remove_label", rules.SetProperty: "set_property", rules.Write: "write",
	}
)

// resourceOf returns what of an element a rule about one property or label at most is about.
func resourceOf(r *rules.Rule) string {
	labels := r.Action == rules.SetLabel || r.Action == rules.RemoveLabel
	switch {
	case labels && len(r.Names) == 0:
		return "all_labels"
	case labels:
		return "label(" + r.Names[0] + ")"
	case !r.Action.OfProperties():
		return "graph"
	case len(r.Props) == 0:
		return "all_properties"
	}
	return "property(" + r.Props[0] + ")"
}

// segmentOf returns the elements that a rule about one name at most is about: NODE(name), RELATIONSHIP(name), or its pattern.
func segmentOf(r *rules.Rule) string {
	if r.Where != nil {
		return r.Elements()
	}
	kind, name, end := "NODE", "*", ""
	if r.Edges {
		kind = "RELATIONSHIP"
	}
	if len(r.Names) > 0 && r.Action != rules.SetLabel && r.Action != rules.RemoveLabel {
		name = r.Names[0]
	}
	if r.Check {
		end = " WITH CHECK"
	}
	return kind + "(" + name + ")" + end
}
