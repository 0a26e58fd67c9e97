//! Counts and prints checks, one line each.

/// Why the check itself could not run.
pub type Trouble = Box<dyn std::error::Error>;

/// What was checked so far.
#[derive(Debug, Default)]
pub struct Report {
    pub passed: usize,
    pub failed: usize,
}

impl Report {
    /// One check: it failed when there are reasons.
    pub fn line(&mut self, what: &str, reasons: &[String]) {
        if reasons.is_empty() {
            self.passed += 1;
            println!("ok    models: {what}");
            return;
        }
        self.failed += 1;
        println!("FAIL  models: {what}");
        for reason in reasons {
            println!("        {reason}");
        }
    }
}
