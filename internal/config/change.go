package config

import "fmt"

// Change is a setting that differs between two configurations, with its values as text.
type Change struct{ Name, From, To string }

// Changes returns the settings that differ, in display order.
func Changes(from, to *Config) (all []Change) {
	others := to.settings()
	for i, s := range from.settings() {
		if a, b := s.value.String(), others[i].value.String(); a != b {
			all = append(all, Change{s.name, a, b})
		}
	}
	return all
}

// Set sets a setting by its name and the text of its value.
func (c *Config) Set(name, value string) error {
	for _, s := range c.settings() {
		if s.name == name {
			return s.value.Set(value)
		}
	}
	return fmt.Errorf("%s: there is no such setting", name)
}
