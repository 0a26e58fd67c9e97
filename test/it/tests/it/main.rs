//! One test binary; each module is named by what it holds.

#![cfg(test)]

mod disk;
mod file;
mod harness;
mod kubernetes;
mod layering;
mod line;
mod model;
mod told;
mod world;
