// Package config composes all options from flags, environment and file, and checks them.
package config
