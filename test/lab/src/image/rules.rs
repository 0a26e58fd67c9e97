//! udev rules that make the links of a virtual machine on Azure.
//!
//! The links are those that the Azure agent and azure-vm-utils make; the rules are our own, because
//! the controllers hang on another bus here. Two families are made, as newer images have both.

use std::fmt::Write as _;

use crate::wire::{SLOT_DATA, SLOT_SYSTEM};

/// The rules.
#[must_use]
pub fn text() -> String {
    let mut text =
        String::from("SUBSYSTEM!=\"block\", GOTO=\"end\"\nACTION==\"remove\", GOTO=\"end\"\n");
    let slots = [(SLOT_SYSTEM, "scsi0"), (SLOT_DATA, "scsi1")];
    for (slot, name) in slots {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "KERNELS==\"0000:00:{slot:02x}.0\", ENV{{LAB_BUS}}=\"{name}\""
        );
    }
    text.push_str("ENV{LAB_BUS}!=\"?*\", GOTO=\"end\"\n");
    for lun in 0..64 {
        let _ = writeln!(text, "KERNELS==\"*:0:0:{lun}\", ENV{{LAB_LUN}}=\"{lun}\"");
    }
    text.push_str(
        "ENV{DEVTYPE}==\"disk\", SYMLINK+=\"disk/azure/$env{LAB_BUS}/lun$env{LAB_LUN}\"\n\
         ENV{DEVTYPE}==\"partition\", SYMLINK+=\"disk/azure/$env{LAB_BUS}/lun$env{LAB_LUN}-part%n\"\n\
         ENV{DEVTYPE}==\"disk\", ENV{LAB_BUS}==\"scsi1\", SYMLINK+=\"disk/azure/data/by-lun/$env{LAB_LUN}\"\n\
         ENV{DEVTYPE}==\"disk\", ENV{LAB_BUS}==\"scsi0\", ENV{LAB_LUN}==\"0\", SYMLINK+=\"disk/azure/root\"\n\
         ENV{DEVTYPE}==\"disk\", ENV{LAB_BUS}==\"scsi0\", ENV{LAB_LUN}==\"1\", SYMLINK+=\"disk/azure/resource\"\n\
         LABEL=\"end\"\n",
    );
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_slot_has_a_rule() {
        let text = super::text();
        assert!(text.contains("KERNELS==\"*:0:0:63\", ENV{LAB_LUN}=\"63\""));
        assert!(text.contains("KERNELS==\"0000:00:11.0\", ENV{LAB_BUS}=\"scsi1\""));
    }
}
