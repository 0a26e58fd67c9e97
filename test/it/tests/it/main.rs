//! One test binary; each module is named by what it holds.

#![cfg(test)]

mod disk;
mod layering;
mod world;
