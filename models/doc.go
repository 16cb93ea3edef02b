// Package models holds the rules of Countersign: what an envelope is, which
// transitions it allows, and what each move records.
//
// An Envelope is a pure aggregate. Its methods check the table of transitions, change
// the values in memory and record Events; they know neither database nor
// network, and take the time and the actor as arguments. Package store makes
// each change durable, from those events alone.
package models
