//! Several programs as one.
