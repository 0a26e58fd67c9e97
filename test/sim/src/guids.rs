//! GUIDs and numbers that are the same in every run.

/// A GUID that is always the same for the same text.
#[must_use]
pub fn guid_of(text: &str) -> String {
    let mut high = 0xcbf2_9ce4_8422_2325_u64;
    let mut low = 0x9e37_79b9_7f4a_7c15_u64;
    for byte in text.bytes() {
        high = (high ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        low = mix(low ^ high);
    }
    guid(high, low)
}

/// A GUID of 128 bits.
#[must_use]
pub fn guid(high: u64, low: u64) -> String {
    let bits = (u128::from(high) << 64) | u128::from(low);
    uuid::Builder::from_random_bytes(bits.to_be_bytes())
        .into_uuid()
        .to_string()
}

/// One step of a generator that needs no state but a counter.
#[must_use]
pub const fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
