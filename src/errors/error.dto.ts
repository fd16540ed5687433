import { ApiProperty, ApiSchema } from '@nestjs/swagger';

/** The body of every answer other than 200 (interface, "Error"). */
@ApiSchema({ name: 'Error', description: 'What is wrong with a request, or with the service' })
export class ErrorDto {
  /** A number from the table of errors. */
  @ApiProperty({ type: 'integer', format: 'int32', description: 'Numeric error value' })
  readonly error!: number;

  /** What is wrong, for a person to read. */
  @ApiProperty({ type: 'string', description: 'Error message text' })
  readonly message!: string;
}
