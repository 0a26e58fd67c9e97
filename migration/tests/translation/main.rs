//! The translation as others see it: shared vectors and properties.

#![cfg(test)]

mod canonical;
mod dice;
mod generate;
mod properties;
mod vectors;
