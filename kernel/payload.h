/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Does a written payload fit a format? Pure: reads nothing but the payload
 * and the format.
 */
#ifndef UE_PAYLOAD_H
#define UE_PAYLOAD_H

#include <linux/types.h>

#include "format.h"

/* The common fields of a record, before the payload, in bytes. */
#define UE_RECORD_HEADER	8

/**
 * struct ue_span - the bytes of a field in a payload
 * @start: from the start of the payload, bytes; negative in the common fields
 * @size: bytes
 */
struct ue_span {
	s64 start;
	u32 size;
};

/**
 * ue_field_span() - where the bytes of a field are
 * @field: the field, which lies within the payload
 * @payload: the payload
 *
 * Return: what the payload says, which may lie outside of it.
 */
struct ue_span ue_field_span(const struct ue_field *field,
			     const void *payload);

/* ue_payload_check_fields() - as below, for a format that has something to check */
int ue_payload_check_fields(const struct ue_format *format,
			    const void *payload, size_t size);

/**
 * ue_payload_check() - do all locations of a payload lie within it?
 * @format: what the payload should have
 * @payload: at least @format->size bytes
 * @size: of the payload, bytes
 *
 * Return: 0; 1 when a NUL has to follow the payload in its record, lest text be
 * read past the end; -EFAULT for a location that reaches past the payload, or
 * leads to text whose last byte is not NUL.
 */
static inline int ue_payload_check(const struct ue_format *format,
				   const void *payload, size_t size)
{
	if (!format->checked)
		return 0;
	return ue_payload_check_fields(format, payload, size);
}

#endif /* UE_PAYLOAD_H */
