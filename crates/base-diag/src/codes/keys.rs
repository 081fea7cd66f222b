//! 12xx: flows that are processed on several devices.

codes! {
    /// A key depends on something that packets of one flow do not share.
    KEY_NOT_OF_PACKET = 1201,
    /// An annotation about keys says what cannot be.
    BAD_KEY_ANNOTATION = 1202,
    /// An object that packets read and write would be on several devices.
    NOT_DIVIDED = 1203,
}
