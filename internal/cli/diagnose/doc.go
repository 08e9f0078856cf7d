// Package diagnose has the commands that look into a live server: profiles, flame graphs, and its state in one file.
package diagnose
