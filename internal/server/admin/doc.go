// Package admin serves the admin listener: probes, metrics, profiles and settings.
package admin
