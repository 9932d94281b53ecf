/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checks whether a written payload matches a format. Pure: reads nothing but
 * the payload and the format.
 */
#ifndef UE_PAYLOAD_H
#define UE_PAYLOAD_H

#include <linux/types.h>

#include "format/format.h"

/* The most zeros that ue_payload_check() asks for. */
#define UE_PAYLOAD_ZEROS_MAX	(UE_READ_SIZE - 1)

/**
 * struct ue_span - the bytes of a field in a payload
 * @start: offset from the start of the payload, bytes; negative in the common
 *	fields
 * @size: bytes
 */
struct ue_span {
	s64 start;
	u32 size;
};

/**
 * ue_field_span() - find the bytes of a field
 * @field: the field, which lies within the payload
 * @payload: the payload
 *
 * Context: any.
 * Return: the span; a location may lead outside of the payload.
 */
struct ue_span ue_field_span(const struct ue_field *field, const void *payload);

/**
 * ue_payload_check_fields() - ue_payload_check() for a format with @needs_check
 * @format: format of the payload
 * @payload: at least @format->size bytes
 * @size: of the payload, bytes
 *
 * Context: any.
 * Return: as ue_payload_check().
 */
int ue_payload_check_fields(const struct ue_format *format,
			    const void *payload, size_t size);

/**
 * ue_payload_check() - check that all data of a payload lie within it
 * @format: format of the payload
 * @payload: at least @format->size bytes
 * @size: of the payload, bytes
 *
 * Context: any.
 * Return: 0; how many zeros the record needs after the payload, so that no reader
 * of the kernel reads past the end; -EFAULT if the data of a location end after the
 * payload, or are text whose last byte (for empty text, the byte before) is not
 * NUL.
 */
static inline int ue_payload_check(const struct ue_format *format,
				   const void *payload, size_t size)
{
	if (!format->needs_check)
		return 0;
	return ue_payload_check_fields(format, payload, size);
}

#endif /* UE_PAYLOAD_H */
