//! What `--version` prints, with the keys of the driver that this one replaces.

/// The version of this driver.
pub const VERSION: &str = match option_env!("AZCSI_VERSION") {
    Some(version) => version,
    None => concat!("v", env!("CARGO_PKG_VERSION")),
};
const COMMIT: &str = match option_env!("AZCSI_COMMIT") {
    Some(commit) => commit,
    None => "N/A",
};
const BUILT: &str = match option_env!("AZCSI_BUILD_DATE") {
    Some(date) => date,
    None => "N/A",
};

/// The version as YAML.
#[must_use]
pub fn yaml(driver: &str) -> String {
    let platform = format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH);
    [
        ("Build Date", BUILT),
        ("Compiler", "rustc"),
        ("Driver Name", driver),
        ("Driver Version", VERSION),
        ("Git Commit", COMMIT),
        ("Go Version", "none"),
        ("Platform", &platform),
    ]
    .iter()
    .map(|(key, value)| format!("{key}: {value}\n"))
    .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_keys_are_those_of_old() {
        let text = super::yaml("file.csi.azure.com");
        let keys: Vec<_> = text
            .lines()
            .filter_map(|line| line.split_once(": "))
            .collect();
        assert_eq!(keys.len(), 7);
        assert!(keys.contains(&("Driver Name", "file.csi.azure.com")));
    }
}
