//! Mount options: which are flags of the system call, and which are for the filesystem.

use sys_mount::MountFlags;

/// An option list that cannot be passed on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the mount option '{option}' cannot be used: {why}")]
pub struct BadOption {
    option: String,
    why: &'static str,
}

/// Options in their order, one word each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountOptions(Vec<String>);

impl MountOptions {
    /// Takes the items of a capability's `mount_flags` apart. An item may hold several options
    /// (`ro,noatime`); a comma inside quotes, as in an SELinux context, does not part them.
    ///
    /// # Errors
    /// For a line break or NUL, and for options that would change what is mounted rather than how.
    pub fn parse(items: &[String]) -> Result<Self, BadOption> {
        let mut words = Vec::new();
        for item in items {
            for word in split(item) {
                check(&word)?;
                if !word.is_empty() {
                    words.push(word);
                }
            }
        }
        Ok(Self(words))
    }

    /// Whether an option is there, exactly.
    #[must_use]
    pub fn has(&self, option: &str) -> bool {
        self.0.iter().any(|word| word == option)
    }

    /// Whether the options in the end ask for a read-only mount; the last word wins.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        let last = self
            .0
            .iter()
            .rev()
            .find(|word| *word == "ro" || *word == "rw");
        last.is_some_and(|word| word == "ro")
    }

    /// Adds an option unless it is there.
    pub fn add(&mut self, option: &str) {
        if !self.has(option) {
            self.0.push(option.to_owned());
        }
    }

    /// Removes an option; tells whether it was there.
    pub fn take(&mut self, option: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|word| word != option);
        self.0.len() != before
    }

    /// The options in their order.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.0
    }

    /// Parted into what `mount(2)` takes: flags, and a text for the filesystem.
    #[must_use]
    pub fn for_kernel(&self) -> (MountFlags, String) {
        let mut flags = MountFlags::empty();
        let mut data: Vec<&str> = Vec::new();
        for word in &self.0 {
            match effect(word) {
                Effect::Set(flag) => flags |= flag,
                Effect::Clear(flag) => flags -= flag,
                Effect::Nothing => {}
                Effect::Data => data.push(word),
            }
        }
        (flags, data.join(","))
    }
}

enum Effect {
    Set(MountFlags),
    Clear(MountFlags),
    Nothing,
    Data,
}

fn effect(word: &str) -> Effect {
    use Effect::{Clear, Nothing, Set};
    match word {
        "ro" => Set(MountFlags::RDONLY),
        "rw" => Clear(MountFlags::RDONLY),
        "nosuid" => Set(MountFlags::NOSUID),
        "suid" => Clear(MountFlags::NOSUID),
        "nodev" => Set(MountFlags::NODEV),
        "dev" => Clear(MountFlags::NODEV),
        "noexec" => Set(MountFlags::NOEXEC),
        "exec" => Clear(MountFlags::NOEXEC),
        "sync" => Set(MountFlags::SYNCHRONOUS),
        "async" => Clear(MountFlags::SYNCHRONOUS),
        "dirsync" => Set(MountFlags::DIRSYNC),
        "mand" => Set(MountFlags::MANDLOCK),
        "nomand" => Clear(MountFlags::MANDLOCK),
        "noatime" => Set(MountFlags::NOATIME),
        "atime" => Clear(MountFlags::NOATIME),
        "nodiratime" => Set(MountFlags::NODIRATIME),
        "diratime" => Clear(MountFlags::NODIRATIME),
        "relatime" => Set(MountFlags::RELATIME),
        "norelatime" => Clear(MountFlags::RELATIME),
        "strictatime" => Set(MountFlags::STRICTATIME),
        "silent" => Set(MountFlags::SILENT),
        "loud" => Clear(MountFlags::SILENT),
        // Words of fstab and of mount(8), which mean nothing to the kernel.
        "defaults" | "auto" | "noauto" | "_netdev" | "nofail" | "user" | "nouser" | "users"
        | "owner" | "group" => Nothing,
        word if word.starts_with("x-") || word.starts_with("comment=") => Nothing,
        _ => Effect::Data,
    }
}

fn split(item: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in item.chars() {
        match letter {
            '"' => quoted = !quoted,
            ',' if !quoted => words.push(String::new()),
            _ => {}
        }
        if (letter != ',' || quoted)
            && let Some(word) = words.last_mut()
        {
            word.push(letter);
        }
    }
    words
        .into_iter()
        .map(|word| word.trim().to_owned())
        .collect()
}

fn check(word: &str) -> Result<(), BadOption> {
    let bad = |why| {
        Err(BadOption {
            option: word.escape_debug().take(100).collect(),
            why,
        })
    };
    if word.chars().any(char::is_control) {
        return bad("it holds a control character");
    }
    if word.len() > 1024 {
        return bad("it is longer than 1024 bytes");
    }
    let name = word.split('=').next().unwrap_or(word);
    if ["bind", "rbind", "move", "remount", "loop"].contains(&name) {
        return bad("it changes what is mounted");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::MountOptions;
    use sys_mount::MountFlags;

    fn parse(items: &[&str]) -> MountOptions {
        let items: Vec<String> = items.iter().map(|&item| item.to_owned()).collect();
        MountOptions::parse(&items).unwrap()
    }

    #[test]
    fn read_only_is_seen_in_any_position() {
        for (items, read_only) in [
            (&["ro"][..], true),
            (&["ro,noatime"], true),
            (&["noatime,ro"], true),
            (&["noatime", "ro"], true),
            (&["errors=remount-ro"], false),
            (&["ro", "rw"], false),
            (&[], false),
        ] {
            assert_eq!(parse(items).is_read_only(), read_only, "{items:?}");
        }
    }

    #[test]
    fn flags_go_to_the_call_and_the_rest_to_the_filesystem() {
        let context = "context=\"system_u:object_r:container_file_t:s0:c1,c2\"";
        let options = parse(&[
            "noatime,discard",
            context,
            "defaults",
            "rw",
            "errors=remount-ro",
        ]);
        let (flags, data) = options.for_kernel();
        assert_eq!(flags, MountFlags::NOATIME);
        assert_eq!(data, format!("discard,{context},errors=remount-ro"));
    }

    #[test]
    fn options_that_change_what_is_mounted_are_refused() {
        for item in [
            "bind",
            "noatime,remount",
            "a\nb",
            "a\0b",
            "loop=/dev/loop0",
            "move",
        ] {
            assert!(MountOptions::parse(&[item.to_owned()]).is_err(), "{item}");
        }
    }
}
