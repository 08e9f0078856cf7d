// Package config composes all settings from flags, environment and file, and validates them.
package config
